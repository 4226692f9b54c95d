// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Signals interrupt every thread a thousand times a second, while ranks that are threads make calls
// of every kind: no result changes, and no deadline comes earlier or later.

#include <chrono>

#include "support/all_calls.hpp"
#include "support/catch.hpp"
#include "support/folder.hpp"
#include "support/longer_deadlines.hpp"
#include "support/ranks.hpp"
#include "support/signal_storm.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"
#include "support/variable.hpp"

namespace sparsecoll::fault {
namespace {

using test::SignalStorm;
using Clock = std::chrono::steady_clock;

TEST_CASE("signals interrupt system calls") { REQUIRE(test::storm_interrupts() == ""); }

TEST_CASE("calls of every kind between threads take no notice of signals") {
  const int rounds = test::small_run() ? 1 : 8;
  for (const char* const blocking : {"1", "0"}) {
    const test::Variable variable("SPARSECOLL_TEST_BLOCKING", blocking);
    const test::Folder folder;
    const SignalStorm everywhere(SignalStorm::To::process);  // also the threads of the queues
    const std::uint64_t before = SignalStorm::handled();
    for (const int P : {1, 2, 4}) {
      for (int round = 0; round < rounds; ++round) {
        const test::Ranks ranks(P, test::default_config());
        CHECK(ranks.run("in a storm of signals", [&](int rank) {
          const SignalStorm storm;
          return test::make_all_calls(ranks.comm(rank), folder.file(rank),
                                      test::base_seed() + static_cast<std::uint64_t>(round));
        }) == "");
      }
    }
    CHECK(SignalStorm::handled() - before > 100);
  }
}

/// Lets rank 0 wait for rank 1, which does not call.
std::string wait_in_a_storm(int deadline_ms) {
  sparsecollConfig_t config = test::default_config();
  config.timeoutMs = deadline_ms;
  const test::Ranks ranks(2, config);
  return ranks.run("a rank that does not call", [&](int rank) -> std::string {
    if (rank == 1) return "";
    const SignalStorm everywhere(SignalStorm::To::process), storm;
    const auto start = Clock::now();
    std::vector<float> x(10, 1);
    const sparsecollResult_t result = test::call_dense_verb<float>(
        test::Verb::kSparse, {x.data(), x.data(), x.size(), 5}, ranks.comm(0));
    const std::chrono::duration<double> took = Clock::now() - start;
    if (took < std::chrono::milliseconds(deadline_ms)) return "the error came early";
    if (took.count() > deadline_ms / 1000.0 + test::patience()) return "the error came late";
    return test::expect("the call", result, sparsecollTimeout, ranks.comm(0));
  });
}

TEST_CASE("signals neither shorten nor lengthen a deadline between threads") {
  for (const char* const blocking : {"1", "0"}) {
    const test::Variable variable("SPARSECOLL_TEST_BLOCKING", blocking);
    CHECK(test::with_longer_deadlines(300, wait_in_a_storm) == "");
  }
}

}  // namespace
}  // namespace sparsecoll::fault
