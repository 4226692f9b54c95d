// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of gossip messages that are lost, damaged or wrong, and of neighbours that fail.

#include <cstring>
#include <memory>

#include "api/communicators.hpp"
#include "api/push_sum_state.hpp"
#include "collectives/push_sum/framed_push_sum.hpp"
#include "support/catch.hpp"
#include "support/longer_deadlines.hpp"
#include "support/push_sum.hpp"

namespace sparsecoll::unit {
namespace {

constexpr size_t kLength = 100;

using test::kExponential;

/// The results of the steps of two ranks. `verdict` is "" if every step ended in time and no failed
/// step changed x.
struct Outcome {
  std::vector<sparsecollResult_t> results{2, sparsecollInternalError};
  std::string verdict;
};

Outcome steps_under(const FaultPlan& plan, int timeout_ms, size_t k = 0) {
  sparsecollConfig_t values = test::default_config();
  values.timeoutMs = timeout_ms;
  sparsecollPushSumConfig_t config = kExponential.config();
  config.k = k;
  Communicators ranks(2, values, plan);
  std::vector<std::unique_ptr<test::PushSum<double>>> states(2);
  Outcome outcome;
  outcome.verdict = ranks.run("create", [&](int rank) -> std::string {
    states[static_cast<size_t>(rank)] =
        std::make_unique<test::PushSum<double>>(ranks.handle(rank), kLength, config);
    return "";
  });
  if (!outcome.verdict.empty()) return outcome;
  outcome.verdict = ranks.run("steps", [&](int rank) -> std::string {
    const auto r = static_cast<size_t>(rank);
    std::vector<double> x(kLength, rank);
    outcome.results[r] = sparsecollSuccess;
    const Clock::time_point start = Clock::now();
    for (int t = 0; t < 4 && outcome.results[r] == sparsecollSuccess; ++t) {
      const std::vector<double> before = x;
      outcome.results[r] = states[r]->step(x);
      if (outcome.results[r] != sparsecollSuccess && x != before) return "x was changed";
    }
    const std::chrono::duration<double> took = Clock::now() - start;
    return took.count() < timeout_ms * 1e-3 + 1 + test::patience() ? "" : "too late";
  });
  return outcome;
}

/// Message 0 of a rank belongs to PushSumCreate. Each step sends one message.
constexpr size_t kFirstStep = 1;

TEST_CASE("a lost message is detected by the next message or the deadline") {
  Outcome outcome;
  CHECK(test::with_longer_deadlines(200, [&](int ms) {
          outcome = steps_under(
              [](int from, int, size_t number) {
                MessageFault fault;
                fault.drop = from == 0 && number == kFirstStep + 1;
                return fault;
              },
              ms);
          return outcome.verdict;
        }) == "");
  for (const sparsecollResult_t result : outcome.results)
    CHECK((result == sparsecollTimeout || result == sparsecollRemoteError));
}

TEST_CASE("a rank that fails is detected before the deadline") {
  Outcome outcome;
  CHECK(test::with_longer_deadlines(200, [&](int ms) -> std::string {
          outcome = steps_under(
              [](int from, int, size_t number) {
                MessageFault fault;
                fault.kill_sender = from == 0 && number == kFirstStep + 2;
                return fault;
              },
              ms);
          const bool in_time = outcome.results[0] == sparsecollSystemError;
          return outcome.verdict.empty() && !in_time ? "the deadline passed before rank 0 failed"
                                                     : outcome.verdict;
        }) == "");
  CHECK((outcome.results[1] == sparsecollTimeout || outcome.results[1] == sparsecollRemoteError));
}

TEST_CASE("every byte of a step's message is covered by its checksum") {
  for (const size_t k : {size_t{0}, size_t{5}}) {
    for (size_t at = 0; at < kGossipHeaders + 8 * kLength; at += at < kGossipHeaders + 8 ? 1 : 61) {
      const Outcome outcome = steps_under(
          [at](int from, int, size_t number) {
            MessageFault fault;
            if (from == 0 && number == kFirstStep) fault.corrupt_byte = at;
            return fault;
          },
          60000, k);
      INFO("byte " << at);
      CHECK(outcome.verdict == "");
      CHECK(outcome.results[1] == sparsecollRemoteError);
      CHECK(outcome.results[0] == sparsecollRemoteError);
    }
  }
}

TEST_CASE("a message of a step in which the graph has no such edge is refused") {
  for (const uint64_t step : {uint64_t{1}, uint64_t{5}, ~uint64_t{0}}) {
    Communicators ranks(3, test::default_config());
    std::vector<std::unique_ptr<test::PushSum<double>>> states(3);
    sparsecollPushSumConfig_t config = kExponential.config();
    config.maxDelay = -1;
    REQUIRE(ranks.run("create", [&](int rank) -> std::string {
      states[static_cast<size_t>(rank)] =
          std::make_unique<test::PushSum<double>>(ranks.handle(rank), 1, config);
      return "";
    }) == "");
    // Rank 0 sends to rank 1 in even steps. Its message of the first step was not sent.
    FrameHeader header{};
    header.kind = static_cast<uint16_t>(FrameKind::gossip);
    header.sequence = 2;
    const GossipHeader wrong{1, step, 0.5, 0.5};
    Buffer message = ranks.channel(0).transport().pool().take(kGossipHeaders + 8);
    std::memset(message.data(), 0, message.size());
    std::memcpy(message.data() + sizeof header, &wrong, sizeof wrong);
    ranks.channel(0).hand_over(1, header, std::move(message));
    std::vector<double> x(1, 1.0);
    CHECK(states[1]->step(x) == sparsecollRemoteError);
    CHECK(std::string(sparsecollGetLastError(ranks.handle(1))).find("sent a message of step") !=
          std::string::npos);
    CHECK(x[0] == 1.0);
  }
}

TEST_CASE("a message with values of the wrong length is refused") {
  Communicators ranks(2, test::default_config());
  std::vector<std::unique_ptr<test::PushSum<double>>> states(2);
  REQUIRE(ranks.run("create", [&](int rank) -> std::string {
    states[static_cast<size_t>(rank)] =
        std::make_unique<test::PushSum<double>>(ranks.handle(rank), 2, kExponential.config());
    return "";
  }) == "");
  FrameHeader header{};
  header.kind = static_cast<uint16_t>(FrameKind::gossip);
  header.sequence = 2;
  const GossipHeader gossip{1, 0, 0.5, 0.5};
  Buffer message = ranks.channel(0).transport().pool().take(kGossipHeaders + 8);
  std::memset(message.data(), 0, message.size());
  std::memcpy(message.data() + sizeof header, &gossip, sizeof gossip);
  ranks.channel(0).hand_over(1, header, std::move(message));
  std::vector<double> x(2, 1.0);
  CHECK(states[1]->step(x) == sparsecollRemoteError);
  CHECK(x == std::vector<double>(2, 1.0));
}

}  // namespace
}  // namespace sparsecoll::unit
