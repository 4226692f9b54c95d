// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests neighbours that call another function, are late, or have left.

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "misuse/push_sum.hpp"
#include "support/catch.hpp"
#include "support/longer_deadlines.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::test {
namespace {

std::string call_another_function(int P) {
  const Ranks ranks(P, default_config());
  return ranks.run("another function", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.comm(rank);
    const PushSum<double> state(comm, kLength, kUsual);
    std::vector<double> x(kLength, 1.0), sum(kLength);
    const auto start = std::chrono::steady_clock::now();
    const bool steps = rank == 0;
    const sparsecollResult_t result =
        steps ? state.step(x)
              : sparseAllreduce(x.data(), sum.data(), kLength, 3, sparsecollFloat64, sparsecollSum,
                                nullptr, comm, nullptr);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (took.count() > 1 + patience()) return "the error came late";
    if (x != std::vector<double>(kLength, 1.0)) return "x was changed";
    if (steps && state.weight() != 1.0) return "the weight was changed";
    return refused("call", result, sparsecollRemoteError, "pushSumStep", comm);
  });
}

TEST_CASE("a rank that calls another function is found out at once, by both sides") {
  for (const int P : {2, 3})
    CHECK(unless_late_by_chance([&] { return call_another_function(P); }) == "");
}

std::string wait_for_neighbour(int max_delay, int deadline_ms) {
  sparsecollConfig_t config = default_config();
  config.timeoutMs = deadline_ms;
  const Ranks ranks(2, config);
  return ranks.run("no neighbour", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.comm(rank);
    sparsecollPushSumConfig_t own = kUsual;
    own.maxDelay = max_delay;
    const PushSum<double> state(comm, kLength, own);
    if (rank == 1) return "";
    std::vector<double> x(kLength, 1.0);
    for (int t = 0; t < max_delay; ++t)
      if (state.step(x) != sparsecollSuccess) return "a step within the delay waited";
    const std::vector<double> before = x;
    const double weight = state.weight(), deadline = deadline_ms / 1000.0;
    const auto start = std::chrono::steady_clock::now();
    const std::string wrong =
        refused("step", state.step(x), sparsecollTimeout, "nothing was heard from rank 1", comm);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (took.count() < deadline - 0.001) return "an early error";
    if (took.count() > deadline + patience()) return "a late error";
    if (x != before || state.weight() != weight) return "x or w was changed";
    if (state.step(x) != sparsecollTimeout) return "the communicator is not poisoned";
    if (sparsecollPushSumSave(state.handle(), "unused") != sparsecollTimeout) return "saved";
    return wrong;
  });
}

TEST_CASE("a neighbour that does not come is named at the deadline, and x is as it was") {
  for (const int max_delay : {0, 2})
    CHECK(with_longer_deadlines(150, [&](int ms) { return wait_for_neighbour(max_delay, ms); }) ==
          "");
}

TEST_CASE("a neighbour that is gone is told from one that is late") {
  Ranks ranks(2, default_config());
  std::vector<std::unique_ptr<PushSum<double>>> states(2);
  REQUIRE(ranks.run("create", [&](int rank) {
    states[static_cast<std::size_t>(rank)] =
        std::make_unique<PushSum<double>>(ranks.comm(rank), kLength, kUsual);
    return std::string();
  }) == "");
  ranks.destroy(1);
  CHECK(std::isnan(states[1]->weight()));
  CHECK(sparsecollPushSumDestroy(states[1]->handle()) == sparsecollInvalidArgument);
  std::vector<double> x(kLength, 1.0);
  CHECK(refused("step", states[0]->step(x), sparsecollRemoteError, "rank 1 has destroyed",
                ranks.comm(0)) == "");
  CHECK(x == std::vector<double>(kLength, 1.0));
}

TEST_CASE("a drain after unequal numbers of steps is found out at once, by both sides") {
  for (const int max_delay : {0, 2, -1}) {
    const Ranks ranks(2, default_config());
    INFO("max delay " << max_delay);
    CHECK(ranks.run("unequal", [&](int rank) -> std::string {
      const sparsecollComm_t comm = ranks.comm(rank);
      sparsecollPushSumConfig_t own = kUsual;
      own.maxDelay = max_delay;
      const PushSum<double> state(comm, kLength, own);
      std::vector<double> x(kLength, 1.0);
      if (state.step(x) != sparsecollSuccess) return "the first step failed";
      if (rank == 0) {
        // A step that may go on without its neighbour may also be over before that one drains.
        const sparsecollResult_t second = state.step(x);
        if (second == sparsecollSuccess ? max_delay == 0 : second != sparsecollRemoteError)
          return "the second step: " + explain(second, comm);
      }
      return refused("drain", state.drain(x), sparsecollRemoteError, "", comm);
    }) == "");
  }
}

TEST_CASE("a drain after as many steps, but of another state, is refused and can be made again") {
  const Ranks ranks(2, default_config());
  CHECK(ranks.run("other states", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.comm(rank);
    sparsecollPushSumConfig_t own = kUsual;
    own.maxDelay = -1;
    const PushSum<double> a(comm, kLength, own), b(comm, kLength, own);
    std::vector<double> x(kLength, 1.0), y(kLength, 1.0);
    const bool first = rank == 0;
    if ((first ? a.step(x) : b.step(y)) != sparsecollSuccess) return "the first step failed";
    const std::vector<double> before = x;
    const std::string wrong =
        refused("drain", a.drain(x), sparsecollInvalidUsage, "ranks disagree on", comm);
    if (wrong != "") return wrong;
    if (x != before) return "x was changed";
    if ((first ? b.step(y) : a.step(x)) != sparsecollSuccess) return "the second step failed";
    if (a.drain(x) != sparsecollSuccess || b.drain(y) != sparsecollSuccess)
      return std::string("drain: ") + sparsecollGetLastError(comm);
    return "";
  }) == "");
}

TEST_CASE("an abort from another thread ends a step that waits") {
  const Ranks ranks(2, default_config());
  std::atomic<bool> made{false};
  CHECK(ranks.run("abort", [&](int rank) -> std::string {
    const PushSum<double> state(ranks.comm(rank), kLength, kUsual);
    if (rank == 0) made = true;
    if (rank == 1) {
      while (!made) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // most often inside the step
      sparsecollCommAbort(ranks.comm(0));
      return "";
    }
    std::vector<double> x(kLength, 1.0);
    return refused("step", state.step(x), sparsecollInvalidUsage, "abort", ranks.comm(0));
  }) == "");
}

}  // namespace
}  // namespace sparsecoll::test
