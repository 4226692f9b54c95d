// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Shrinks over NCCL: lists, deadlines, aborts, and what cannot move.

#include <thread>

#include "nccl/api_team.hpp"
#include "nccl/stand_in_library.hpp"
#include "support/catch.hpp"
#include "support/longer_deadlines.hpp"
#include "support/push_sum.hpp"

namespace sparsecoll::nccl_tests {
namespace {

constexpr int kTimeoutMs = 800;
/// How long an operation that does not wait may take on a busy machine, in seconds.
constexpr double kAtOnce = 1.0;

void kill_rank(const Team& team, int rank, size_t group = 1) {
  nccl_stand_in::die_in_group(last_child_of(team.user_comms()[rank]), group);
}

sparsecollResult_t shrink(sparsecollComm_t comm, std::vector<int> without, sparsecollComm_t* made,
                          const sparsecollConfig_t* config = nullptr) {
  const auto count = static_cast<int>(without.size());
  without.push_back(0);  // so that the list is never NULL
  return sparsecollCommShrink(comm, without.data(), count, made, config);
}

/// Adds ones over the ranks. Returns "" if there are `ranks` of them.
std::string sum_of_ones(sparsecollComm_t comm, int ranks) {
  const Tensors tensors(comm);
  Call call;
  call.k = call.count;
  const std::string wrong =
      result_mismatch(tensors.finish(tensors.make(call)), sparsecollSuccess, comm);
  if (!wrong.empty()) return wrong;
  const float sum = tensors.out.read(tensors.stream)[0];
  return sum == static_cast<float>(ranks) ? "" : text("the sum is ", sum, "; ");
}

/// Shrinks, uses the new communicator and destroys it.
std::string shrink_and_use(sparsecollComm_t comm, const std::vector<int>& without, int ranks) {
  sparsecollComm_t made = nullptr;
  std::string wrong = result_mismatch(shrink(comm, without, &made), sparsecollSuccess, comm);
  if (!wrong.empty()) return wrong;
  wrong = sum_of_ones(made, ranks);
  return wrong + destroy_mismatch(sparsecollCommDestroy(made));
}

TEST_CASE("a healthy communicator stays as it is, and a shrunk one can be shrunk") {
  {
    const Team team(4);
    CHECK(team.run("healthy", [&](int rank) -> std::string {
      const sparsecollComm_t comm = team.comm(rank);
      std::string wrong = sum_of_ones(comm, 4) + shrink_and_use(comm, {}, 4);
      if (rank == 0) return wrong;
      sparsecollComm_t three = nullptr;
      wrong += result_mismatch(shrink(comm, {0}, &three), sparsecollSuccess, comm);
      if (!wrong.empty()) return wrong;
      if (sequence_of(three) != 1) wrong += text("number ", sequence_of(three), "; ");
      wrong += sum_of_ones(three, 3);
      if (rank != 2) wrong += shrink_and_use(three, {1}, 2);
      wrong += sum_of_ones(three, 3) + shrink_and_use(three, {}, 3);
      return wrong + destroy_mismatch(sparsecollCommDestroy(three));
    }) == "");
    CHECK(team.run("the old one", [&](int rank) { return sum_of_ones(team.comm(rank), 4); }) == "");
  }
  CHECK(nccl_stand_in::leftovers() == "");
}

TEST_CASE("after an abort all ranks go on") {
  const Team team(3);
  CHECK(team.run("abort", [&](int rank) {
    sparsecollCommAbort(team.comm(rank));
    return shrink_and_use(team.comm(rank), {}, 3);
  }) == "");
}

std::string pass_bad_arguments(int timeout_ms) {
  const Team team(2, config_with_timeout(timeout_ms));
  return team.run("arguments", [&](int rank) {
    const sparsecollComm_t comm = team.comm(rank);
    sparsecollComm_t made = nullptr;
    int count = 1, failed = 0;
    std::string wrong =
        result_mismatch(sparsecollCommShrink(comm, nullptr, 0, &made, nullptr),
                        sparsecollInvalidArgument, comm, "exclude: expected a list over NCCL");
    for (const int bad : {rank, -1, 2})
      wrong += result_mismatch(shrink(comm, {bad}, &made), sparsecollInvalidArgument, comm,
                               "exclude: expected other ranks than this one");
    if (sparsecollCommGetFailed(comm, &failed, &count) != sparsecollSuccess || count != 0)
      wrong += "GetFailed; ";
    // A bad argument that the others can be told of.
    wrong += rank == 0 ? result_mismatch(shrink(comm, {}, nullptr), sparsecollInvalidArgument, comm,
                                         "newcomm: expected a pointer")
                       : result_mismatch(shrink(comm, {}, &made), sparsecollInvalidUsage, comm,
                                         "rank 0 passed a bad argument: newcomm");
    if (made) wrong += "there is a communicator; ";
    return wrong + shrink_and_use(comm, {}, 2);
  });
}

TEST_CASE("the list: NULL, this rank, ranks that are none, and an output that is NULL") {
  CHECK(test::with_longer_deadlines(kTimeoutMs, pass_bad_arguments) == "");
}

/// Lets ranks 0 and 1 pass other lists than rank 2, and rank 3 nothing.
std::string pass_different_lists(int timeout_ms) {
  const Team team(4, config_with_timeout(timeout_ms));
  const std::string verdict = team.run("lists", [&](int rank) {
    const sparsecollComm_t comm = team.comm(rank);
    sparsecollComm_t made = nullptr;
    if (rank == 3) return std::string();
    const Clock::time_point start = Clock::now();
    std::string wrong =
        result_mismatch(shrink(comm, {rank == 0 ? 2 : 3}, &made), sparsecollTimeout, comm);
    if (seconds_since(start) > timeout_ms / 1000.0 + kAtOnce) wrong += "late; ";
    wrong += result_mismatch(shrink(comm, {3}, &made), sparsecollInvalidUsage, comm,
                             "NCCL cannot repeat one");
    return wrong + (made ? "there is a communicator; " : "");
  });
  return verdict +
         team.run("the old one", [&](int rank) { return sum_of_ones(team.comm(rank), 4); });
}

TEST_CASE("ranks that pass different lists get Timeout, and no second attempt") {
  CHECK(test::with_longer_deadlines(kTimeoutMs, pass_different_lists) == "");
}

/// Lets rank 0 shrink alone: rank 2 is dead, and rank 1 does not call.
std::string miss_a_survivor(int blocking, int timeout_ms) {
  sparsecollConfig_t config = config_with_timeout(timeout_ms);
  config.blocking = blocking;
  const Team team(3, config);
  kill_rank(team, 2);
  return team.run("missing", [&](int rank) -> std::string {
    const sparsecollComm_t comm = team.comm(rank);
    if (rank == 2) sparsecollCommAbort(comm);
    if (rank != 0) return "";
    const Tensors tensors(comm);
    tensors.make(Call{});  // it never ends
    sparsecollComm_t made = nullptr;
    const Clock::time_point start = Clock::now();
    const std::string wrong =
        result_mismatch(shrink(comm, {2}, &made), sparsecollTimeout, comm, "ncclCommShrink");
    // A queued call takes its own deadline first.
    const double most = (blocking ? 1 : 2) * timeout_ms / 1000.0 + kAtOnce;
    return wrong + (seconds_since(start) > most ? "late; " : "");
  });
}

TEST_CASE("a survivor that does not come: Timeout within the deadline, with queued calls, too") {
  for (const int blocking : {1, 0})
    CHECK(test::with_longer_deadlines(kTimeoutMs,
                                      [&](int ms) { return miss_a_survivor(blocking, ms); }) == "");
}

/// Lets rank 0 shrink alone, and aborts it.
std::string abort_a_shrink() {
  const Team team(3);
  const std::string verdict = team.run("abort", [&](int rank) -> std::string {
    if (rank != 0) return "";
    const sparsecollComm_t comm = team.comm(rank);
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      sparsecollCommAbort(comm);
    });
    sparsecollComm_t made = nullptr;
    const Clock::time_point start = Clock::now();
    const sparsecollResult_t got = shrink(comm, {2}, &made);
    other.join();
    const double took = seconds_since(start);
    return test::wrong_or_late(
        result_mismatch(got, sparsecollInvalidUsage, comm, "aborted by sparsecollCommAbort"), took,
        0.05 + kAtOnce);
  });
  for (const int rank : {1, 2}) sparsecollCommAbort(team.comm(rank));  // destroy would wait
  return verdict;
}

TEST_CASE("an abort ends a shrink") { CHECK(test::unless_late_by_chance(abort_a_shrink) == ""); }

/// Aborts rank 0 so long after it has begun to shrink. Its new communicator works or does not
/// exist.
std::string abort_while_shrinking(std::chrono::microseconds after, int timeout_ms) {
  const Team team(3, config_with_timeout(timeout_ms));
  std::vector<sparsecollComm_t> made(3, nullptr);
  std::vector<sparsecollResult_t> results(3, sparsecollSuccess);
  std::string wrong = team.run("shrink", [&](int rank) -> std::string {
    if (rank == 2) return "";
    const sparsecollComm_t comm = team.comm(rank);
    const auto r = static_cast<size_t>(rank);
    std::thread other([&] {
      if (rank != 0) return;
      std::this_thread::sleep_for(after);
      sparsecollCommAbort(comm);
    });
    results[r] = shrink(comm, {2}, &made[r]);
    other.join();
    const sparsecollResult_t error = rank == 0 ? sparsecollInvalidUsage : sparsecollTimeout;
    if (results[r] == sparsecollSuccess) return made[r] ? "" : "no communicator; ";
    return result_mismatch(results[r], error, comm, rank == 0 ? "aborted by" : "") +
           (made[r] ? "there is a communicator; " : "");
  });
  wrong += team.run("use", [&](int rank) -> std::string {
    const sparsecollComm_t mine = made[static_cast<size_t>(rank)];
    if (!mine) return "";
    std::string own;
    if (results[0] == sparsecollSuccess && results[1] == sparsecollSuccess)
      own = sum_of_ones(mine, 2);
    else
      sparsecollCommAbort(mine);  // the other rank does not have it
    return own + destroy_mismatch(sparsecollCommDestroy(mine));
  });
  for (const int rank : {0, 1, 2}) sparsecollCommAbort(team.comm(rank));  // destroy would wait
  return wrong;
}

TEST_CASE("an abort at any time of a shrink ends it, or leaves what it has made") {
  const int rounds = test::small_run() ? 1 : 2;
  for (int round = 0; round < rounds; ++round)
    for (const int us : {0, 50, 100, 200, 400, 800, 1500, 3000, 6000, 12000, 25000, 50000}) {
      INFO("after " << us << " us");
      REQUIRE(test::with_longer_deadlines(kTimeoutMs, [us](int ms) {
                return abort_while_shrinking(std::chrono::microseconds(us), ms);
              }) == "");
      REQUIRE(nccl_stand_in::leftovers() == "");
    }
}

/// Lets rank 1 die before three calls with a residual, then moves the residual.
std::string change_a_residual_by_three_calls(int timeout_ms) {
  const Team team(3, config_with_timeout(timeout_ms));
  std::vector<std::unique_ptr<Tensors>> tensors(3);
  const std::string first = team.run("first call", [&](int rank) {
    auto& own = tensors[static_cast<size_t>(rank)];
    own = std::make_unique<Tensors>(team.comm(rank));
    return result_mismatch(own->finish(own->make(Call{})), sparsecollSuccess, team.comm(rank));
  });
  if (!first.empty()) return first;
  kill_rank(team, 1);
  return team.run("three calls", [&](int rank) -> std::string {
    const sparsecollComm_t comm = team.comm(rank);
    const Tensors& own = *tensors[static_cast<size_t>(rank)];
    for (int call = 0; call < 3; ++call) own.make(Call{});
    std::string wrong = result_mismatch(sparsecollCommSynchronize(comm), sparsecollTimeout, comm);
    if (rank == 1) return wrong;
    sparsecollComm_t made = nullptr;
    wrong += result_mismatch(shrink(comm, {1}, &made), sparsecollSuccess, comm);
    if (!wrong.empty()) return wrong;
    if (sequence_of(made) != 1) wrong += text("number ", sequence_of(made), "; ");
    wrong += result_mismatch(sparsecollResidualMove(own.residual.handle(), made),
                             sparsecollInvalidUsage, made, "residual: the state after call 1");
    wrong += sum_of_ones(made, 2);
    return wrong + destroy_mismatch(sparsecollCommDestroy(made));
  });
}

TEST_CASE("a residual that more than two unfinished calls have changed does not move") {
  CHECK(test::with_longer_deadlines(kTimeoutMs, change_a_residual_by_three_calls) == "");
}

/// Makes steps of push-sum, then a call in which rank 2 dies, or a step if `in_step`.
std::string move_push_sum(bool in_step, int timeout_ms) {
  const Team team(3, config_with_timeout(timeout_ms));
  std::vector<std::unique_ptr<Tensors>> tensors(3);
  sparsecollPushSum_t states[3] = {};
  sparsecollPushSumConfig_t config = test::kGraphs[0].config();
  std::string wrong = team.run("steps", [&](int rank) {
    const auto r = static_cast<size_t>(rank);
    const sparsecollComm_t comm = team.comm(rank);
    tensors[r] = std::make_unique<Tensors>(comm);
    std::string own =
        result_mismatch(sparsecollPushSumCreate(&states[r], 64, sparsecollFloat32, &config, comm),
                        sparsecollSuccess, comm);
    for (int step = 0; step < 3; ++step)
      own += result_mismatch(pushSumStep(tensors[r]->in.get(), nullptr, 64, sparsecollFloat32,
                                         states[r], comm, tensors[r]->stream),
                             sparsecollSuccess, comm);
    return own + result_mismatch(sparsecollCommSynchronize(comm), sparsecollSuccess, comm);
  });
  kill_rank(team, 2);
  return wrong + team.run("move", [&](int rank) -> std::string {
    const auto r = static_cast<size_t>(rank);
    const sparsecollComm_t comm = team.comm(rank);
    double before = 0, after = 0;
    std::string own =
        result_mismatch(sparsecollPushSumWeight(states[r], &before), sparsecollSuccess, comm);
    const std::vector<float> x = tensors[r]->in.read(tensors[r]->stream);
    if (in_step)
      pushSumStep(tensors[r]->in.get(), nullptr, 64, sparsecollFloat32, states[r], comm,
                  tensors[r]->stream);
    else
      tensors[r]->make(Call{});
    // With gossip a rank may not miss the dead one; then a call does.
    sparsecollResult_t failure = sparsecollCommSynchronize(comm);
    if (failure == sparsecollSuccess) failure = tensors[r]->finish(tensors[r]->make(Call{}));
    own += result_mismatch(failure, sparsecollTimeout, comm);
    if (rank == 2) return own;
    sparsecollComm_t made = nullptr;
    own += result_mismatch(shrink(comm, {2}, &made), sparsecollSuccess, comm);
    if (!own.empty()) return own;
    const sparsecollResult_t moved = sparsecollPushSumMove(states[r], made);
    if (in_step) {
      if (moved != sparsecollInvalidUsage) own += text("the move: ", moved, "; ");
    } else {
      own += result_mismatch(moved, sparsecollSuccess, made);
      own += result_mismatch(sparsecollPushSumWeight(states[r], &after), sparsecollSuccess, made);
      if (before != after || before <= 0) own += text("weight ", before, ", ", after, "; ");
      if (tensors[r]->in.read(tensors[r]->stream) != x) own += "x differs; ";
      own += result_mismatch(pushSumStep(tensors[r]->in.get(), nullptr, 64, sparsecollFloat32,
                                         states[r], made, tensors[r]->stream),
                             sparsecollSuccess, made);
    }
    own += sum_of_ones(made, 2);
    return own + destroy_mismatch(sparsecollCommDestroy(made));
  });
}

TEST_CASE("a push-sum state moves, unless the failure was in its step") {
  for (const bool in_step : {false, true})
    CHECK(test::with_longer_deadlines(kTimeoutMs,
                                      [&](int ms) { return move_push_sum(in_step, ms); }) == "");
}

}  // namespace
}  // namespace sparsecoll::nccl_tests
