// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Communicators over NCCL: parts of them, and how they end when a rank does not come, breaks, or
// gives up.

#include <thread>

#include "nccl/api_team.hpp"
#include "nccl/stand_in_library.hpp"
#include "support/catch.hpp"
#include "support/push_sum.hpp"

namespace sparsecoll::nccl_tests {
namespace {

using std::chrono::milliseconds;

constexpr int kTimeout = 200;  // milliseconds
/// Of what must be over at once, on a machine that has other things to do.
constexpr double kAtOnce = 1.0;

Call sparse_call() {
  Call call;
  call.verb = test::Verb::kSparse;
  return call;
}

TEST_CASE("parts: colors, keys, none, with a configuration of their own") {
  const Team team(5);
  CHECK(team.run("split", [&](int rank) {
    const sparsecollComm_t comm = team.comm(rank);
    Tensors tensors(comm);
    // Still on the stream when the split is made.
    std::string wrong = told(tensors.make(Call{}), sparsecollSuccess, comm);
    sparsecollConfig_t config = test::default_config();
    config.residualRule = sparsecollResidualPaper;
    sparsecollComm_t part = comm;
    const int color = rank == 4 ? SPARSECOLL_SPLIT_NOCOLOR : rank % 2;
    wrong += told(sparsecollCommSplit(comm, color, -rank, &part, &config), sparsecollSuccess, comm);
    if (rank == 4) return wrong + (part ? "a part without a color; " : "");
    int size = 0, place = -1;
    sparsecollCommCount(part, &size);
    sparsecollCommRank(part, &place);
    if (size != 2 || place != (rank < 2 ? 1 : 0)) wrong += text(place, " of ", size, "; ");
    const Tensors own(part);
    for (const Call& call : {Call{}, sparse_call(), Call{}})
      wrong += told(own.finish(own.make(call)), sparsecollSuccess, part);
    return wrong + told(sparsecollCommDestroy(part), sparsecollSuccess, part);
  }) == "");
  CHECK(team.run("afterwards", [&](int rank) {
    const Tensors tensors(team.comm(rank));
    return told(tensors.finish(tensors.make(Call{})), sparsecollSuccess, team.comm(rank));
  }) == "");
}

TEST_CASE("bad arguments of a split are told to all, and nothing comes of it") {
  const Team team(2);
  CHECK(team.run("split", [&](int rank) {
    const sparsecollComm_t comm = team.comm(rank);
    sparsecollComm_t part = nullptr;
    std::string wrong =
        rank == 1 ? told(sparsecollCommSplit(comm, -5, 0, &part, nullptr),
                         sparsecollInvalidArgument, comm, "color: expected 0 or more")
                  : told(sparsecollCommSplit(comm, 0, 0, &part, nullptr), sparsecollInvalidUsage,
                         comm, "rank 1 passed a bad argument: color");
    sparsecollConfig_t odd = test::default_config();
    odd.thresholdInterval = 10 + rank;
    wrong += told(sparsecollCommSplit(comm, 0, 0, &part, &odd), sparsecollInvalidUsage, comm,
                  "ranks disagree on");
    if (part) wrong += "there is a part; ";
    wrong += told(sparsecollCommSplit(comm, 0, 0, &part, nullptr), sparsecollSuccess, comm);
    return wrong + told(sparsecollCommDestroy(part), sparsecollSuccess, part);
  }) == "");
}

TEST_CASE("the end waits for what is queued, and the handle is none afterwards") {
  {
    Team team(3);
    CHECK(team.run("end", [&](int rank) {
      const sparsecollComm_t comm = team.comm(rank);
      const Tensors tensors(comm);
      std::string wrong = told(tensors.make(Call{}), sparsecollSuccess, comm);
      wrong += told(team.destroy(rank), sparsecollSuccess, comm);
      if (sparsecollCommDestroy(comm) != sparsecollInvalidArgument) wrong += "twice; ";
      return wrong + (tensors.untouched() ? "the call was lost; " : "");
    }) == "");
  }
  CHECK(nccl_stand_in::leftovers() == "");
}

/// What one rank does that its peer leaves it alone with.
struct Lonely {
  const char* name;
  std::function<sparsecollResult_t(sparsecollComm_t, const Tensors&)> call;
};

const Lonely kLonely[] = {
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
       sparsecollComm_t part = nullptr;
       return sparsecollCommSplit(comm, 0, 0, &part, nullptr);
     }},
    {"a push-sum state",
     [](sparsecollComm_t comm, const Tensors&) {
       sparsecollPushSum_t state = nullptr;
       return sparsecollPushSumCreate(&state, 64, sparsecollFloat32, nullptr, comm);
     }},
};

/// Both ranks have made both calls; then rank 0 is left alone in one of them, and `meanwhile` runs
/// beside it.
std::string leave_alone(Team& team, const Lonely& lonely, const std::function<void()>& meanwhile,
                        const std::function<std::string(sparsecollResult_t, double)>& judge) {
  std::string verdict = team.run(lonely.name, [&](int rank) {
    const sparsecollComm_t comm = team.comm(rank);
    const Tensors tensors(comm);
    std::string wrong;
    for (const Call& call : {Call{}, sparse_call()})
      wrong += told(tensors.finish(tensors.make(call)), sparsecollSuccess, comm);
    if (rank == 1) return wrong;
    const Clock::time_point start = Clock::now();
    std::thread beside(meanwhile);
    const sparsecollResult_t got = lonely.call(comm, tensors);
    const double seconds = seconds_since(start);
    beside.join();
    wrong += judge(got, seconds);
    if (async_error_of(comm) != got) wrong += "GetAsyncError tells something else; ";
    wrong += told(tensors.make(Call{}), got, comm);
    wrong += told(sparsecollCommSynchronize(comm), got, comm);
    const Clock::time_point end = Clock::now();
    wrong += team.destroy(rank) == sparsecollSuccess ? "" : "it cannot be destroyed; ";
    return wrong + (seconds_since(end) > kAtOnce ? "that takes long; " : "");
  });
  return verdict;
}

TEST_CASE("a rank that does not call: Timeout, whatever its peer waits in") {
  for (const Lonely& each : kLonely) {
    {
      Team team(2, config_with_timeout(kTimeout));
      CHECK(leave_alone(
                team, each, [] {},
                [](sparsecollResult_t got, double seconds) {
                  const bool in_time =
                      seconds > kTimeout / 2000.0 && seconds < kTimeout / 1000.0 + kAtOnce;
                  return got == sparsecollTimeout && in_time
                             ? std::string()
                             : text("got ", got, " after ", seconds, " s; ");
                }) == "");
    }
    CHECK(nccl_stand_in::leftovers() == "");
  }
}

TEST_CASE("an abort from another thread ends whatever a rank waits in") {
  for (const Lonely& each : kLonely) {
    {
      Team team(2);
      const auto abort = [&] {
        std::this_thread::sleep_for(milliseconds(50));
        sparsecollCommAbort(team.comm(0));
      };
      CHECK(leave_alone(team, each, abort, [](sparsecollResult_t got, double seconds) {
              return got == sparsecollInvalidUsage && seconds < 0.05 + kAtOnce
                         ? std::string()
                         : text("got ", got, " after ", seconds, " s; ");
            }) == "");
      sparsecollCommAbort(team.comm(1));  // its end is collective
    }
    CHECK(nccl_stand_in::leftovers() == "");
  }
}

TEST_CASE("a rank that breaks: RemoteError, whatever it waits in") {
  for (const Lonely& each : kLonely) {
    {
      Team team(2);
      const auto break_it = [&] {
        std::this_thread::sleep_for(milliseconds(50));
        nccl_stand_in::break_rank(last_child_of(team.user_comms()[0]));
      };
      CHECK(leave_alone(team, each, break_it, [](sparsecollResult_t got, double seconds) {
              return got == sparsecollRemoteError && seconds < 0.05 + kAtOnce
                         ? std::string()
                         : text("got ", got, " after ", seconds, " s; ");
            }) == "");
      sparsecollCommAbort(team.comm(1));
    }
    CHECK(nccl_stand_in::leftovers() == "");
  }
}

}  // namespace
}  // namespace sparsecoll::nccl_tests
