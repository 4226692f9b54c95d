// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests calls over NCCL that do not wait: memory, waits, statistics; and communicators with
// blocking = 0.

#include "devices/graph.hpp"
#include "nccl/api_team.hpp"
#include "support/catch.hpp"
#include "support/push_sum.hpp"

namespace sparsecoll::nccl_tests {
namespace {

using devices::Graph;

constexpr int kRanks = 3;

/// Calls that a rank repeats without waiting.
struct Steps {
  explicit Steps(sparsecollComm_t of, int delay, size_t k)
      : comm(of), tensors(of), state(of, Call{}.count, config(delay, k)) {}

  static sparsecollPushSumConfig_t config(int delay, size_t k) {
    sparsecollPushSumConfig_t config = test::kExponential.config();
    config.maxDelay = delay;
    config.k = k;
    config.mixing = 0.5;
    return config;
  }
  void make() const {
    Call dense;
    dense.count = dense.k = 70;
    for (const Call& call : {Call{}, dense}) must(tensors.make(call));
    must(pushSumStep(tensors.in.get(), tensors.out.get(), Call{}.count, sparsecollFloat32,
                     state.handle(), comm, tensors.stream));
  }
  void must(sparsecollResult_t got) const {
    if (got != sparsecollSuccess) throw std::runtime_error(sparsecollGetLastError(comm));
  }

  sparsecollComm_t comm;
  Tensors tensors;
  test::PushSum<float> state;
};

TEST_CASE("gtopkAllreduce and pushSumStep neither wait nor allocate in the steady state") {
  for (const int delay : {0, 2})
    for (const size_t k : {size_t{0}, size_t{5}}) {
      const Team team(kRanks);
      std::vector<std::unique_ptr<Steps>> steps(kRanks);
      const auto repeat = [&](int times, bool wait) {
        return team.run("steps", [&](int rank) {
          auto& own = steps[static_cast<size_t>(rank)];
          if (!own) own = std::make_unique<Steps>(team.comm(rank), delay, k);
          for (int time = 0; time < times; ++time) own->make();
          if (wait) own->tensors.stream.wait();
          return std::string();
        });
      };
      REQUIRE(repeat(8, true) == "");
      const size_t waits = simt::waits(), allocations = simt::allocations();
      CHECK(repeat(20, false) == "");
      CHECK(simt::waits() == waits);
      CHECK(simt::allocations() == allocations);
      CHECK(repeat(1, true) == "");
      CHECK(simt::waits() > waits);
      CHECK(team.run("after all", [&](int rank) {
        return result_mismatch(sparsecollCommSynchronize(team.comm(rank)), sparsecollSuccess,
                               team.comm(rank));
      }) == "");
    }
}

sparsecollStats_t stats_of(sparsecollComm_t comm, int which = sparsecollStatsLast) {
  sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
  sparsecollCommGetStats(comm, which, &stats);
  return stats;
}

/// Returns "" if the statistics have these counts, otherwise a description.
std::string counted(const char* what, const sparsecollStats_t& stats, size_t selected,
                    size_t result) {
  if (stats.selected == selected && stats.result == result) return "";
  return text(what, ": ", stats.selected, " selected, ", stats.result, " in the result; ");
}

TEST_CASE("statistics of calls, groups and replays are known after Synchronize") {
  const Team team(kRanks);
  CHECK(team.run("count", [&](int rank) {
    const sparsecollComm_t comm = team.comm(rank);
    const Tensors tensors(comm);
    const auto plain = [&](const Call& call) {
      return tensors.make(call, tensors.in.get(), tensors.out.get(), nullptr);
    };
    Call few{test::Verb::kGtopk, 20, 4}, more{test::Verb::kGtopk, 20, 6},
        sparse{test::Verb::kSparse, 20, 3};
    std::string wrong = counted("before", stats_of(comm), 0, 0);
    wrong += result_mismatch(tensors.finish(plain(more)), sparsecollSuccess, comm);
    wrong += counted("a call", stats_of(comm), 6, 6);
    wrong += result_mismatch(tensors.finish(plain(few)), sparsecollSuccess, comm);
    wrong += counted("the last call", stats_of(comm), 4, 4);
    wrong += result_mismatch(plain(sparse), sparsecollSuccess, comm);
    wrong += counted("a call that waits", stats_of(comm), 3, 3);
    // The member call that waits is the first one. Its counts on the host and those of the others
    // on the device are added up.
    const auto grouped = test::in_group(comm, [&] {
      plain(sparse);
      tensors.make(few, tensors.in.get(), tensors.out.get() + 20, nullptr);
      tensors.make(more, tensors.in.get(), tensors.out.get() + 40, nullptr);
    });
    wrong += result_mismatch(tensors.finish(grouped), sparsecollSuccess, comm);
    wrong += counted("a group", stats_of(comm), 13, 13);
    wrong += counted("in all", stats_of(comm, sparsecollStatsTotal), 26, 26);
    const Graph graph(tensors.stream,
                      [&] { wrong += result_mismatch(plain(few), sparsecollSuccess, comm); });
    for (int replay = 0; replay < 3; ++replay) graph.launch(tensors.stream);
    tensors.stream.wait();
    wrong += counted("replays", stats_of(comm, sparsecollStatsTotal), 38, 38);
    return wrong;
  }) == "");
}

TEST_CASE("queued calls: results after StreamWait, errors and their messages after Synchronize") {
  sparsecollConfig_t config = test::default_config();
  config.blocking = 0;
  const Team team(2, config);
  CHECK(team.run("queued", [&](int rank) {
    const sparsecollComm_t comm = team.comm(rank);
    Tensors tensors(comm);
    std::string wrong;
    Call call{test::Verb::kGtopk, 20, 20}, other = call;
    other.verb = test::Verb::kSparse;
    std::vector<float> want(Tensors::kRoom, Tensors::kUntouched);
    std::fill_n(want.begin(), 20, 2.0f);
    for (const Call& each : {call, other, call}) {
      tensors.wipe();
      wrong += result_mismatch(tensors.make(each), sparsecollSuccess, comm);
      wrong +=
          result_mismatch(sparsecollCommStreamWait(comm, tensors.stream), sparsecollSuccess, comm);
      wrong += test::difference("result", tensors.out.read(tensors.stream), want);
    }
    tensors.wipe();
    const Call odd{test::Verb::kGtopk, 20, rank == 1 ? size_t{7} : size_t{8}};
    wrong += result_mismatch(tensors.make(odd), sparsecollSuccess, comm);
    wrong += result_mismatch(sparsecollCommSynchronize(comm), sparsecollInvalidUsage, comm,
                             rank == 1 ? "k: this rank passed 7, rank 0 passed 8"
                                       : "k: this rank passed 8, rank 1 passed 7");
    if (!tensors.untouched()) wrong += "the output was touched; ";
    return wrong + result_mismatch(tensors.finish(tensors.make(call)), sparsecollSuccess, comm);
  }) == "");
}

}  // namespace
}  // namespace sparsecoll::nccl_tests
