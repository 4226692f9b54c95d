// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Gossip that arrives faster than a rank takes it: a step ends all the same, and what waits is
// bounded.

#include <cstring>
#include <functional>

#include "api/communicators.hpp"
#include "collectives/push_sum/framed_push_sum.hpp"
#include "support/catch.hpp"
#include "support/longer_deadlines.hpp"
#include "support/push_sum.hpp"
#include "transport/forwarding_transport.hpp"

namespace sparsecoll::unit {
namespace {

constexpr size_t kLength = 4;
constexpr size_t kMessageBytes = kGossipHeaders + kLength * sizeof(double);

/// Whenever nothing is left to receive, `refill` is called, which may send more.
class FloodedTransport final : public ForwardingTransport {
 public:
  FloodedTransport(std::unique_ptr<Transport> below, std::function<void()>& refill)
      : ForwardingTransport(std::move(below)), refill_(refill) {}
  std::optional<ReceivedMessage> poll() override {
    auto message = ForwardingTransport::poll();
    if (message || !refill_) return message;
    refill_();
    return ForwardingTransport::poll();
  }

 private:
  std::function<void()>& refill_;
};

/// Ranks of which rank 0 is flooded by `refill`.
std::vector<std::unique_ptr<Transport>> make_transports(int P, std::function<void()>& refill) {
  auto transports = make_local_transports(P);
  transports[0] = std::make_unique<FloodedTransport>(std::move(transports[0]), refill);
  return transports;
}

/// All other ranks send to rank 0, which sends nothing.
int to_rank_0(void*, int rank, int, std::uint64_t, int* neighbours, double* weights, int) {
  if (rank == 0) return 0;
  neighbours[0] = 0;
  weights[0] = 0.5;
  return 1;
}

/// A state of each rank, with that graph.
class States {
 public:
  States(Communicators& ranks, int max_delay) {
    sparsecollPushSumConfig_t config = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
    config.graph = sparsecollGraphCustom;
    config.outNeighbours = to_rank_0;
    config.maxDelay = max_delay;
    states_.resize(static_cast<size_t>(ranks.size()));
    x_.assign(states_.size(), std::vector<double>(kLength, 1.0));
    const std::string verdict = ranks.run("create", [&](int rank) -> std::string {
      states_[static_cast<size_t>(rank)] =
          std::make_unique<test::PushSum<double>>(ranks.handle(rank), kLength, config);
      return "";
    });
    REQUIRE(verdict == "");
  }
  sparsecollResult_t step(size_t rank) { return states_[rank]->step(x_[rank]); }
  double sum_of_weights() const {
    double sum = 0;
    for (const auto& each : states_) sum += each->weight();
    return sum;
  }

 private:
  std::vector<std::unique_ptr<test::PushSum<double>>> states_;
  std::vector<std::vector<double>> x_;
};

size_t received_in_last_call(sparsecollComm_t comm) {
  sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
  sparsecollCommGetStats(comm, sparsecollStatsLast, &stats);
  return stats.bytesReceived / kMessageBytes;
}

TEST_CASE("with maxDelay = -1 a step ends while mail arrives without end") {
  std::function<void()> refill;
  Communicators ranks(make_transports(3, refill), test::default_config());
  States states(ranks, -1);
  size_t sent = 0, failed = 0;
  refill = [&] {
    if (sent >= 200000) return;
    ++sent;
    failed += states.step(1) == sparsecollSuccess ? 0 : 1;
  };
  for (int step = 0; step < 3; ++step) {
    const size_t before = sent;
    REQUIRE(states.step(0) == sparsecollSuccess);
    CHECK(sent - before <= 1100);
    CHECK(received_in_last_call(ranks.handle(0)) <= 1024);
  }
  CHECK(failed == 0);
  refill = nullptr;
  do {
    REQUIRE(states.step(0) == sparsecollSuccess);
  } while (received_in_last_call(ranks.handle(0)) > 0);
  CHECK(std::fabs(states.sum_of_weights() - 3) < 1e-9);
}

/// Rank 0 waits for rank 2, which makes no step, while rank 1 floods it for twenty deadlines.
std::string wait_in_a_flood(int deadline_ms) {
  const double deadline = deadline_ms / 1000.0;
  std::function<void()> refill;
  sparsecollConfig_t config = test::default_config();
  config.timeoutMs = deadline_ms;
  Communicators ranks(make_transports(3, refill), config);
  States states(ranks, 0);
  const auto start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  refill = [&] {
    if (seconds() < 20 * deadline) states.step(1);  // fails at the end, when rank 0 has left
  };
  const sparsecollResult_t result = states.step(0);
  const double took = seconds();
  refill = nullptr;
  const std::string message = test::explain(result, ranks.handle(0));
  if (result != sparsecollTimeout || message.find("rank 2") == std::string::npos)
    return text("got ", result, " after ", took, " s: ", message);
  return took < deadline + 2.7 ? "" : text("late, after ", took, " s");
}

TEST_CASE("a step that waits for one rank ends at its deadline while another floods it") {
  CHECK(test::with_longer_deadlines(300, wait_in_a_flood) == "");
}

TEST_CASE("a step adds the messages that wait in portions, and none is lost") {
  std::function<void()> none;
  Communicators ranks(make_transports(2, none), test::default_config());
  States states(ranks, -1);
  for (int step = 0; step < 3000; ++step) REQUIRE(states.step(1) == sparsecollSuccess);
  std::vector<size_t> received;
  for (int step = 0; step < 4; ++step) {
    REQUIRE(states.step(0) == sparsecollSuccess);
    received.push_back(received_in_last_call(ranks.handle(0)));
  }
  CHECK(received == std::vector<size_t>{1024, 1024, 952, 0});
  CHECK(std::fabs(states.sum_of_weights() - 2) < 1e-9);
}

TEST_CASE("a small message takes a small block") {
  std::function<void()> none;
  Communicators ranks(make_transports(2, none), test::default_config());
  States states(ranks, -1);
  const size_t before = ranks.receive_memory(1).bytes_in_use();
  for (int step = 0; step < 1000; ++step) REQUIRE(states.step(1) == sparsecollSuccess);
  CHECK(ranks.receive_memory(1).bytes_in_use() - before <= size_t{1000} * 2 * kMessageBytes);
}

}  // namespace
}  // namespace sparsecoll::unit
