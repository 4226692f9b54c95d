// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests communicators over NCCL: splits, and the end if a rank does not call, is broken, or aborts.

#include <thread>

#include "nccl/api_team.hpp"
#include "nccl/stand_in_library.hpp"
#include "support/catch.hpp"
#include "support/hang_guard.hpp"
#include "support/longer_deadlines.hpp"
#include "support/push_sum.hpp"

namespace sparsecoll::nccl_tests {
namespace {

using std::chrono::milliseconds;

constexpr int kTimeout = 200;  // milliseconds
/// How long an operation that does not wait may take on a busy machine, in seconds.
constexpr double kAtOnce = 1.0;

Call sparse_call() {
  Call call;
  call.verb = test::Verb::kSparse;
  return call;
}

TEST_CASE("splits: colors, keys, no color, and a configuration of the child") {
  const Team team(5);
  CHECK(team.run("split", [&](int rank) {
    const sparsecollComm_t comm = team.comm(rank);
    Tensors tensors(comm);
    // The call is still on the stream when the split begins.
    std::string wrong = result_mismatch(tensors.make(Call{}), sparsecollSuccess, comm);
    sparsecollConfig_t config = test::default_config();
    config.residualRule = sparsecollResidualPaper;
    sparsecollComm_t child = comm;
    const int color = rank == 4 ? SPARSECOLL_SPLIT_NOCOLOR : rank % 2;
    wrong += result_mismatch(sparsecollCommSplit(comm, color, -rank, &child, &config),
                             sparsecollSuccess, comm);
    if (rank == 4) return wrong + (child ? "a child without a color; " : "");
    int size = 0, child_rank = -1;
    sparsecollCommCount(child, &size);
    sparsecollCommRank(child, &child_rank);
    if (size != 2 || child_rank != (rank < 2 ? 1 : 0))
      wrong += text(child_rank, " of ", size, "; ");
    const Tensors own(child);
    for (const Call& call : {Call{}, sparse_call(), Call{}})
      wrong += result_mismatch(own.finish(own.make(call)), sparsecollSuccess, child);
    return wrong + destroy_mismatch(sparsecollCommDestroy(child));
  }) == "");
  CHECK(team.run("afterwards", [&](int rank) {
    const Tensors tensors(team.comm(rank));
    return result_mismatch(tensors.finish(tensors.make(Call{})), sparsecollSuccess,
                           team.comm(rank));
  }) == "");
}

TEST_CASE("bad arguments of a split: all ranks get an error, and there is no child") {
  const Team team(2);
  CHECK(team.run("split", [&](int rank) {
    const sparsecollComm_t comm = team.comm(rank);
    sparsecollComm_t child = nullptr;
    std::string wrong =
        rank == 1
            ? result_mismatch(sparsecollCommSplit(comm, -5, 0, &child, nullptr),
                              sparsecollInvalidArgument, comm, "color: expected 0 or more")
            : result_mismatch(sparsecollCommSplit(comm, 0, 0, &child, nullptr),
                              sparsecollInvalidUsage, comm, "rank 1 passed a bad argument: color");
    sparsecollConfig_t odd = test::default_config();
    odd.thresholdInterval = 10 + rank;
    wrong += result_mismatch(sparsecollCommSplit(comm, 0, 0, &child, &odd), sparsecollInvalidUsage,
                             comm, "ranks disagree on");
    if (child) wrong += "there is a child; ";
    wrong +=
        result_mismatch(sparsecollCommSplit(comm, 0, 0, &child, nullptr), sparsecollSuccess, comm);
    return wrong + destroy_mismatch(sparsecollCommDestroy(child));
  }) == "");
}

TEST_CASE("a split of a known shape that is refused takes no number") {
  for (const int blocking : {1, 0}) {
    sparsecollConfig_t config = test::default_config();
    config.blocking = blocking;
    const Team team(2, config);
    CHECK(team.run("refused", [&](int rank) {
      const sparsecollComm_t comm = team.comm(rank);
      std::string wrong;
      uint64_t before = 0, after = 0;
      for (const int color : {0, -5, 0}) {
        sparsecollComm_t child = nullptr;
        sparsecollCommGetSequence(comm, &before);
        const sparsecollResult_t result = sparsecollCommSplit(comm, color, 0, &child, nullptr);
        sparsecollCommGetSequence(comm, &after);
        const bool good = color == 0;
        wrong +=
            result_mismatch(result, good ? sparsecollSuccess : sparsecollInvalidArgument, comm);
        if (after - before != (good ? 1u : 0u))
          wrong += text("numbers: ", before, ", ", after, "; ");
        // A number that nobody ends would keep this wait until the next call.
        wrong += result_mismatch(sparsecollCommWait(comm, after), sparsecollSuccess, comm);
        if (child) sparsecollCommDestroy(child);
      }
      return wrong;
    }) == "");
  }
}

TEST_CASE("destroy waits for queued calls, and ends the handle") {
  {
    Team team(3);
    CHECK(team.run("end", [&](int rank) {
      const sparsecollComm_t comm = team.comm(rank);
      const Tensors tensors(comm);
      std::string wrong = result_mismatch(tensors.make(Call{}), sparsecollSuccess, comm);
      wrong += destroy_mismatch(team.destroy(rank));
      if (sparsecollCommDestroy(comm) != sparsecollInvalidArgument)
        wrong += "a second destroy was not refused; ";
      return wrong + (tensors.untouched() ? "the call was lost; " : "");
    }) == "");
  }
  CHECK(nccl_stand_in::leftovers() == "");
}

/// Ends communicators. Returns how many threads are left that ended one of NCCL.
size_t threads_left(bool aborts) {
  Team team(3);
  const std::string wrong = team.run("end", [&](int rank) {
    if (aborts) sparsecollCommAbort(team.comm(rank));
    team.destroy(rank);
    return std::string();
  });
  CHECK(wrong == "");
  return nccl_stand_in::threads_that_ended_one();
}

TEST_CASE("after an end no thread is left that ended a communicator of NCCL") {
  const size_t before = nccl_stand_in::threads_that_ended_one();
  CHECK(threads_left(false) <= before);
  // An abort waits half a second at most, which may be too short on a busy machine.
  size_t fewest = threads_left(true);
  for (int more = 0; more < 4 && fewest > before; ++more)
    fewest = std::min(fewest, threads_left(true));
  CHECK(fewest <= before);
}

/// A call that waits for the peer.
struct WaitingCall {
  const char* name;
  std::function<sparsecollResult_t(sparsecollComm_t, const Tensors&)> call;
};

const WaitingCall kWaitingCalls[] = {
    {"a verb that waits",
     [](sparsecollComm_t, const Tensors& tensors) { return tensors.make(sparse_call()); }},
    {"Synchronize",
     [](sparsecollComm_t, const Tensors& tensors) { return tensors.finish(tensors.make(Call{})); }},
    {"StreamWait",
     [](sparsecollComm_t comm, const Tensors& tensors) {
       const OwnStream other;
       auto got = tensors.make(Call{});
       if (got == sparsecollSuccess) got = sparsecollCommStreamWait(comm, other);
       other.wait();
       return got == sparsecollSuccess ? async_error_of(comm) : got;
     }},
    {"the first call of a shape",
     [](sparsecollComm_t, const Tensors& tensors) {
       Call call;
       call.k = 5;
       return tensors.make(call);
     }},
    {"a split",
     [](sparsecollComm_t comm, const Tensors&) {
       sparsecollComm_t child = nullptr;
       return sparsecollCommSplit(comm, 0, 0, &child, nullptr);
     }},
    {"a push-sum state",
     [](sparsecollComm_t comm, const Tensors&) {
       sparsecollPushSum_t state = nullptr;
       return sparsecollPushSumCreate(&state, 64, sparsecollFloat32, nullptr, comm);
     }},
};

/// Returns what is wrong with a call that should return `want` within `most` seconds.
std::string judge(sparsecollResult_t got, sparsecollResult_t want, double seconds, double most) {
  if (got != want) return text("got ", name_of(got), " after ", seconds, " s; ");
  return seconds < most ? "" : text("late: after ", seconds, " s; ");
}

/// Makes warm-up calls on both ranks. Then rank 0 makes the waiting call alone, while `meanwhile`
/// runs in another thread. `check` gets the result of the call and the seconds that it took.
std::string without_peer(Team& team, const WaitingCall& waiting,
                         const std::function<void()>& meanwhile,
                         const std::function<std::string(sparsecollResult_t, double)>& check) {
  std::string verdict = team.run(waiting.name, [&](int rank) {
    const sparsecollComm_t comm = team.comm(rank);
    const Tensors tensors(comm);
    std::string wrong;
    for (const Call& call : {Call{}, sparse_call()})
      wrong += result_mismatch(tensors.finish(tensors.make(call)), sparsecollSuccess, comm);
    if (rank == 1) return wrong;
    const Clock::time_point start = Clock::now();
    std::thread other(meanwhile);
    const sparsecollResult_t got = waiting.call(comm, tensors);
    const double seconds = seconds_since(start);
    other.join();
    wrong += check(got, seconds);
    if (async_error_of(comm) != got) wrong += "GetAsyncError differs; ";
    wrong += result_mismatch(tensors.make(Call{}), got, comm);
    wrong += result_mismatch(sparsecollCommSynchronize(comm), got, comm);
    const Clock::time_point end = Clock::now();
    wrong += destroy_mismatch(team.destroy(rank));
    return test::wrong_or_late(wrong, seconds_since(end), kAtOnce);
  });
  return verdict;
}

TEST_CASE("an init alone, with a bad argument, ends by the deadline that it was given") {
  const UserComms user_comms(2);
  sparsecollConfig_t config = config_with_timeout(kTimeout);
  config.algorithm = 99;
  sparsecollComm_t comm = nullptr;
  const test::HangGuard guard("init", 1, std::chrono::seconds(60));  // the default is 600 s
  devices::check(cudaSetDevice(UserComms::device(0)));
  CHECK(sparsecollCommInitNccl(&comm, user_comms[0], &config) == sparsecollTimeout);
  CHECK(comm == nullptr);
}

/// Makes ranks whose deadline also holds for the init, and lets one of them not call.
std::string miss_a_peer(const WaitingCall& waiting, int deadline_ms) {
  std::string wrong;
  try {
    Team team(2, config_with_timeout(deadline_ms));
    wrong = without_peer(
        team, waiting, [] {},
        [deadline_ms](sparsecollResult_t got, double seconds) {
          const double deadline = deadline_ms / 1000.0;
          return judge(got, sparsecollTimeout, seconds, deadline + kAtOnce) +
                 (seconds > deadline / 2 ? "" : text("before its deadline: ", seconds, " s; "));
        });
  } catch (const std::exception& error) {
    wrong = error.what();
  }
  wrong += nccl_stand_in::leftovers();
  return wrong.empty() ? "" : "with this deadline: " + wrong;
}

TEST_CASE("a rank does not call: Timeout in every call of its peer that waits") {
  for (const WaitingCall& each : kWaitingCalls)
    CHECK(test::with_longer_deadlines(kTimeout, [&](int ms) { return miss_a_peer(each, ms); }) ==
          "");
}

/// Lets rank 0 wait alone until `end` ends its call, which returns `want` at once.
std::string end_a_wait(const WaitingCall& waiting, const std::function<void(const Team&)>& end,
                       sparsecollResult_t want) {
  std::string wrong;
  {
    Team team(2);
    wrong = without_peer(
        team, waiting,
        [&] {
          std::this_thread::sleep_for(milliseconds(50));
          end(team);
        },
        [want](sparsecollResult_t got, double seconds) {
          return judge(got, want, seconds, 0.05 + kAtOnce);
        });
    sparsecollCommAbort(team.comm(1));  // destroy would wait for rank 0
  }
  return wrong + nccl_stand_in::leftovers();
}

TEST_CASE("an abort from another thread ends every call that waits") {
  const auto abort = [](const Team& team) { sparsecollCommAbort(team.comm(0)); };
  for (const WaitingCall& each : kWaitingCalls)
    CHECK(test::unless_late_by_chance(
              [&] { return end_a_wait(each, abort, sparsecollInvalidUsage); }) == "");
}

TEST_CASE("a rank is broken: RemoteError in every call that waits") {
  const auto break_rank = [](const Team& team) {
    nccl_stand_in::break_rank(last_child_of(team.user_comms()[0]));
  };
  for (const WaitingCall& each : kWaitingCalls)
    CHECK(test::unless_late_by_chance(
              [&] { return end_a_wait(each, break_rank, sparsecollRemoteError); }) == "");
}

}  // namespace
}  // namespace sparsecoll::nccl_tests
