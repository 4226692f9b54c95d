// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of gossip messages that are late, belong to destroyed states, or arrive during other calls;
// and of the copies that compressed gossip keeps at both ends of an edge.

#include <atomic>
#include <cstring>
#include <memory>

#include "api/communicators.hpp"
#include "api/push_sum_state.hpp"
#include "collectives/push_sum/framed_push_sum.hpp"
#include "support/catch.hpp"
#include "support/push_sum.hpp"
#include "support/sweep.hpp"

namespace sparsecoll::unit {
namespace {

constexpr size_t kLength = 100;

using test::GraphCase;
using test::kExponential;
using test::kGraphs;

FaultPlan random_delays(uint64_t seed, uint64_t longest_in_microseconds) {
  return [=](int from, int to, size_t number) {
    MessageFault fault;
    const uint64_t bits = test::noise(seed, static_cast<uint64_t>(from * 64 + to), number);
    fault.delay = std::chrono::microseconds(bits % 3 == 0 ? bits / 3 % longest_in_microseconds : 0);
    return fault;
  };
}

/// The parameters of a run with delayed messages.
struct Trial {
  GraphCase graph;
  int P;
  int max_delay;
  size_t k;
  int steps;
};

sparsecollPushSumConfig_t config_of(const Trial& trial) {
  sparsecollPushSumConfig_t config = trial.graph.config();
  config.maxDelay = trial.max_delay;
  config.k = trial.k;
  config.mixing = 0.5;
  return config;
}

using Vectors = std::vector<std::vector<double>>;

/// Makes the steps of the trial on all ranks and drains. *x is input and output. Checks that no
/// rank is further ahead of its in-neighbours than the delay allows.
std::string run(const Trial& trial, Communicators& ranks, Vectors* x,
                std::vector<double>* weights) {
  const auto P = static_cast<size_t>(trial.P);
  std::vector<std::atomic<int>> begun(P);
  weights->assign(P, 0);
  const std::string what = text(trial.graph.name, " P=", P, " maxDelay=", trial.max_delay);
  return ranks.run(what, [&](int rank) -> std::string {
    const auto r = static_cast<size_t>(rank);
    const sparsecollComm_t comm = ranks.handle(rank);
    const test::PushSum<double> state(comm, kLength, config_of(trial));
    for (int t = 0; t < trial.steps; ++t) {
      ++begun[r];
      const sparsecollResult_t result = state.step((*x)[r]);
      if (result != sparsecollSuccess) return test::explain(result, comm);
      if (trial.max_delay < 0 || t < trial.max_delay) continue;
      const int required_step = t - trial.max_delay;
      const auto matrix = trial.graph.matrix(trial.P, static_cast<uint64_t>(required_step));
      for (size_t i = 0; i < P; ++i)
        if (matrix[r][i] > 0 && begun[i] <= required_step)
          return text("step ", t, " did not wait for rank ", i);
    }
    (*weights)[r] = state.weight();
    const sparsecollResult_t drained = state.drain((*x)[r]);
    if (drained != sparsecollSuccess) return test::explain(drained, comm);
    (*weights)[r] = state.weight();
    return "";
  });
}

double total(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

TEST_CASE("with random delays sums are conserved, and every step waits for its messages") {
  uint64_t seed = test::base_seed();
  for (const int P : {2, 3, 5, 8}) {
    for (const GraphCase& graph : {kExponential, kGraphs[3], kGraphs[6], kGraphs[7]}) {
      for (const int max_delay : {0, 1, 3, -1}) {
        for (const size_t k : {size_t{0}, size_t{10}}) {
          const Trial trial{graph, P, max_delay, k, 12};
          Communicators ranks(P, test::default_config(), random_delays(++seed, 3000));
          Vectors x = test::make_data_of_all<double>(test::Kind::kWideIntegers, kLength, P, seed);
          const std::vector<double> sum = test::sum_of(x);
          std::vector<double> weights;
          INFO("seed " << seed << ", k=" << k);
          REQUIRE(run(trial, ranks, &x, &weights) == "");
          CHECK(test::distance("sum of x", test::sum_of(x), sum, 1e-12) == "");
          CHECK(std::fabs(total(weights) - P) <= 1e-12 * P);
        }
      }
    }
  }
}

TEST_CASE("with maxDelay = 0 the bits do not depend on delays of messages") {
  for (const size_t k : {size_t{0}, size_t{10}}) {
    const Trial trial{kGraphs[3], 5, 0, k, 10};
    const Vectors start =
        test::make_data_of_all<double>(test::Kind::kHeavyTail, kLength, trial.P, 1);
    Vectors prompt = start, late = start;
    std::vector<double> weights, late_weights;
    Communicators first(trial.P, test::default_config());
    Communicators second(trial.P, test::default_config(), random_delays(7, 5000));
    REQUIRE(run(trial, first, &prompt, &weights) == "");
    REQUIRE(run(trial, second, &late, &late_weights) == "");
    for (size_t r = 0; r < start.size(); ++r)
      CHECK(test::difference("x", late[r], prompt[r]) == "");
    CHECK(test::difference("w", late_weights, weights) == "");
  }
}

/// Makes steps on all ranks, drains, and returns the states.
std::vector<std::unique_ptr<test::PushSum<double>>> stepped(Communicators& ranks,
                                                            const sparsecollPushSumConfig_t& config,
                                                            int steps, Vectors& x) {
  std::vector<std::unique_ptr<test::PushSum<double>>> states(x.size());
  REQUIRE(ranks.run("steps", [&](int rank) -> std::string {
    const auto r = static_cast<size_t>(rank);
    states[r] = std::make_unique<test::PushSum<double>>(ranks.handle(rank), x[r].size(), config);
    for (int t = 0; t < steps; ++t)
      if (const auto result = states[r]->step(x[r]); result != sparsecollSuccess)
        return test::explain(result, ranks.handle(rank));
    return test::expect("drain", states[r]->drain(x[r]), sparsecollSuccess, ranks.handle(rank));
  }) == "");
  return states;
}

/// Returns whether both copies are equal. The sender stores its copy negated.
bool negated(const Block& sent, const Block& received) {
  const auto* a = reinterpret_cast<const double*>(sent.data());
  const auto* b = reinterpret_cast<const double*>(received.data());
  return sent.size() == received.size() && std::equal(a, a + sent.size() / sizeof(double), b,
                                                      [](double x, double y) { return x == -y; });
}

TEST_CASE("both ends of an edge keep the same copy, however late the messages are") {
  for (const int max_delay : {0, 2, -1}) {
    const int P = 6;
    sparsecollPushSumConfig_t config = kGraphs[2].config();
    config.maxDelay = max_delay;
    config.k = 9;
    config.mixing = 0.5;
    Communicators ranks(P, test::default_config(), random_delays(3, 2000));
    Vectors x = test::make_data_of_all<double>(test::Kind::kHeavyTail, kLength, P, 2);
    const auto states = stepped(ranks, config, 15, x);
    size_t edges = 0;
    for (int from = 0; from < P; ++from) {
      const auto state = push_sums().find(states[static_cast<size_t>(from)]->handle());
      for (const auto& [to, copy] : state->push_sum().compressed()->sent_copies()) {
        const auto peer = push_sums().find(states[static_cast<size_t>(to)]->handle());
        const auto& received = peer->push_sum().compressed()->received_copies();
        REQUIRE(received.contains(from));
        CHECK(negated(copy, received.at(from)));
        ++edges;
      }
    }
    CHECK(edges == 18);  // distances 1 and 2, then 3; distance 6 is dropped
  }
}

TEST_CASE("compressed gossip converges to the mean if mixing is small enough for k") {
  for (const int P : {4, 8}) {
    const size_t n = 200;
    sparsecollPushSumConfig_t config = kExponential.config();
    config.k = n / 10;
    config.mixing = 0.5;
    Communicators ranks(P, test::default_config());
    Vectors x = test::make_data_of_all<double>(test::Kind::kWideIntegers, n, P, 5);
    std::vector<double> mean = test::sum_of(x);
    for (double& value : mean) value /= P;
    const auto distance = [&](const Vectors& all) {
      double sum = 0;
      for (const auto& each : all)
        for (size_t i = 0; i < n; ++i) sum += (each[i] - mean[i]) * (each[i] - mean[i]);
      return std::sqrt(sum);
    };
    const double before = distance(x);
    stepped(ranks, config, 800, x);
    CHECK(distance(x) < 1e-6 * before);
  }
}

TEST_CASE("other calls run while gossip is in flight, and no message is lost") {
  for (const int P : {2, 3, 6}) {
    Communicators ranks(P, test::default_config(), random_delays(11, 4000));
    sparsecollPushSumConfig_t config = kExponential.config();
    config.maxDelay = -1;
    Vectors x = test::make_data_of_all<double>(test::Kind::kWideIntegers, kLength, P, 3);
    const std::vector<double> sum = test::sum_of(x);
    CHECK(ranks.run("between", [&](int rank) -> std::string {
      const auto r = static_cast<size_t>(rank);
      const sparsecollComm_t comm = ranks.handle(rank);
      const test::PushSum<double> state(comm, kLength, config);
      for (uint64_t round = 0; round < 10; ++round) {
        if (state.step(x[r]) != sparsecollSuccess) return "a step failed";
        const std::string wrong =
            join_case(comm, test::Case{round, round % 2 ? test::kGtopk : test::kOktopk, 300, 20,
                                       test::Kind::kHeavyTail});
        if (!wrong.empty()) return wrong;
      }
      return test::expect("drain", state.drain(x[r]), sparsecollSuccess, comm);
    }) == "");
    CHECK(test::distance("sum of x", test::sum_of(x), sum, 1e-12) == "");
  }
}

TEST_CASE("a message for a destroyed state is dropped, one for a future state is kept") {
  sparsecollPushSumConfig_t config = kExponential.config();
  config.maxDelay = -1;
  Communicators ranks(2, test::default_config());
  std::vector<std::unique_ptr<test::PushSum<double>>> first(2), second(2);
  const auto create = [&](auto& states) {
    return ranks.run("create", [&](int rank) -> std::string {
      states[static_cast<size_t>(rank)] =
          std::make_unique<test::PushSum<double>>(ranks.handle(rank), kLength, config);
      return "";
    });
  };
  REQUIRE(create(first) == "");
  REQUIRE(create(second) == "");
  std::vector<double> x(kLength, 1.0), y(kLength, 5.0);
  REQUIRE(first[0]->step(x) == sparsecollSuccess);   // queued on rank 1
  REQUIRE(second[0]->step(x) == sparsecollSuccess);  // queued behind it
  FrameQueue& queue = ranks.channel(1).gossip(0);
  ranks.channel(1).progress([](int, const Frame&) {});
  CHECK(queue.size() == 2);
  first[1].reset();
  CHECK(queue.size() == 1);
  REQUIRE(first[0]->step(x) == sparsecollSuccess);
  ranks.channel(1).progress([](int, const Frame&) {});
  CHECK(queue.size() == 1);
  REQUIRE(second[1]->step(y) == sparsecollSuccess);
  CHECK(queue.empty());
  CHECK(second[1]->weight() == 1.0);  // 1/2 kept, 1/2 received
  // A message for a state that this rank has not created yet is kept.
  FrameHeader header{};
  header.kind = static_cast<uint16_t>(FrameKind::gossip);
  header.sequence = 1000;
  const GossipHeader early{999, 0, 0.5, 0.5};
  Buffer message = ranks.channel(0).transport().pool().take(kGossipHeaders);
  std::memcpy(message.data() + sizeof header, &early, sizeof early);
  ranks.channel(0).hand_over(1, header, std::move(message));
  ranks.channel(1).progress([](int, const Frame&) {});
  CHECK(queue.size() == 1);
}

TEST_CASE("the steady state allocates nothing") {
  for (const size_t k : {size_t{0}, size_t{10}}) {
    sparsecollPushSumConfig_t config = kGraphs[2].config();
    config.maxDelay = -1;
    config.k = k;
    config.mixing = 0.5;
    Communicators ranks(5, test::default_config());
    Vectors x = test::make_data_of_all<double>(test::Kind::kHeavyTail, 3000, 5, 1);
    std::vector<std::unique_ptr<test::PushSum<double>>> states(5);
    REQUIRE(ranks.run("create", [&](int rank) -> std::string {
      states[static_cast<size_t>(rank)] =
          std::make_unique<test::PushSum<double>>(ranks.handle(rank), 3000, config);
      return "";
    }) == "");
    const auto allocations = [&] {
      size_t all = 0;
      for (int r = 0; r < 5; ++r)
        all += host_memory(ranks[r]).allocations() + ranks.receive_memory(r).allocations();
      return all;
    };
    size_t before = 0;
    for (int t = 0; t < 60; ++t) {
      if (t == 10) before = allocations();
      for (size_t r = 0; r < 5; ++r) REQUIRE(states[r]->step(x[r]) == sparsecollSuccess);
    }
    CHECK(allocations() == before);
  }
}

}  // namespace
}  // namespace sparsecoll::unit
