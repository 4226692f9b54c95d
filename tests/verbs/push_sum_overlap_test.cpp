// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Compares steps that are queued, and steps that do not wait, in any order, with a replay of the
// messages.

#include <algorithm>
#include <memory>
#include <random>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/push_sum.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::test {
namespace {

TEST_CASE("queued steps do what steps do that are waited for") {
  for (const int P : {1, 2, 5}) {
    const auto start = make_data_of_all<double>(Kind::kHeavyTail, 40, P, base_seed());
    std::vector<std::vector<double>> results[2];
    std::vector<double> weights[2];
    for (const int blocking : {1, 0}) {
      sparsecollConfig_t config = default_config();
      config.blocking = blocking;
      auto& last = results[blocking] = start;
      weights[blocking].resize(start.size());
      const Ranks ranks(P, config);
      CHECK(ranks.run("queued", [&](int rank) -> std::string {
        const auto r = static_cast<std::size_t>(rank);
        const sparsecollComm_t comm = ranks.comm(rank);
        const PushSum<double> state(comm, 40, kGraphs[3].config());
        for (int t = 0; t < 20; ++t)
          if (const auto result = state.submit_step(last[r]); result != sparsecollSuccess)
            return explain(result, comm);
        std::uint64_t sequence = 0;
        sparsecollCommGetSequence(comm, &sequence);
        if (sequence != 21) return "wrong sequence: " + std::to_string(sequence);
        weights[blocking][r] = state.weight();  // waits
        const std::string wrong = expect(
            "drain", sparsecollPushSumDrain(state.handle(), last[r].data(), nullptr, nullptr),
            sparsecollSuccess, comm);
        if (!wrong.empty()) return wrong;
        return expect("all", sparsecollCommSynchronize(comm), sparsecollSuccess, comm);
      }) == "");
    }
    for (std::size_t r = 0; r < start.size(); ++r)
      CHECK(difference("x", results[0][r], results[1][r]) == "");
    CHECK(difference("w", weights[0], weights[1]) == "");
  }
}

/// Steps of single ranks, in any order, that never wait: the main thread can be all ranks.
template <class T>
void check_any_order(const GraphCase& graph, int P, std::size_t k) {
  sparsecollPushSumConfig_t config = graph.config();
  config.maxDelay = -1;
  config.k = k;
  config.mixing = k > 0 ? 0.5 : 1;
  const Ranks ranks(P, default_config());
  auto x = make_data_of_all<T>(Kind::kWideIntegers, 40, P, base_seed());
  std::vector<std::vector<double>> same;
  for (const auto& each : x) same.push_back(wide(each));
  const std::vector<double> sum = sum_of(x);
  oracle::PushSumReplay replay(same, {k, config.mixing});
  std::vector<std::unique_ptr<PushSum<T>>> made(static_cast<std::size_t>(P));
  REQUIRE(ranks.run("create", [&](int rank) {
    made[static_cast<std::size_t>(rank)] =
        std::make_unique<PushSum<T>>(ranks.comm(rank), 40, config);
    return std::string();
  }) == "");
  std::vector<int> turns;
  const int steps = k > 0 ? 3 : 12;  // so few that compressed sums stay exact
  for (int r = 0; r < P; ++r) turns.insert(turns.end(), static_cast<std::size_t>(steps), r);
  std::mt19937_64 random(base_seed());
  std::shuffle(turns.begin(), turns.end(), random);
  std::vector<std::uint64_t> step(static_cast<std::size_t>(P));
  for (const int rank : turns) {
    const auto r = static_cast<std::size_t>(rank);
    REQUIRE(made[r]->step(x[r]) == sparsecollSuccess);
    replay.step(rank, graph.matrix(P, step[r]++));
    REQUIRE(distance("x", x[r], replay.x(rank), kTolerance<T> * 4) == "");
    REQUIRE(std::fabs(made[r]->weight() - replay.weight(rank)) < 1e-14);
    std::vector<double> all = sum_of(x);
    const std::vector<double> under_way = replay.x_under_way();
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += under_way[i];
    REQUIRE(distance("sum of x", all, sum, sizeof(T) == 4 ? 2e-6 : 1e-12) == "");
    double weights = replay.w_under_way();
    for (const auto& each : made) weights += each->weight();
    REQUIRE(std::fabs(weights - P) < 1e-12 * P);
  }
  REQUIRE(ranks.run("drain", [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    return expect("drain", made[r]->drain(x[r]), sparsecollSuccess, ranks.comm(rank));
  }) == "");
  replay.drain();
  double weights = 0;
  for (int r = 0; r < P; ++r) {
    CHECK(distance("x", x[static_cast<std::size_t>(r)], replay.x(r), kTolerance<T> * 4) == "");
    weights += made[static_cast<std::size_t>(r)]->weight();
  }
  CHECK(distance("sum of x", sum_of(x), sum, sizeof(T) == 4 ? 2e-6 : 1e-12) == "");
  CHECK(std::fabs(weights - P) < 1e-12 * P);
}

TEST_CASE("without waiting: whatever the order, mass is with ranks or under way, never lost") {
  for (const int P : rank_counts()) {
    for (const GraphCase& graph : kGraphs) {
      INFO(graph.name << ", P=" << P);
      check_any_order<double>(graph, P, 0);
      check_any_order<float>(graph, P, 0);
    }
  }
}

TEST_CASE("compressed gossip without waiting moves what the definition says") {
  for (const int P : rank_counts()) {
    for (const std::size_t k : {std::size_t{1}, std::size_t{7}, std::size_t{100}}) {
      INFO("P=" << P << " k=" << k);
      check_any_order<double>(kExponential, P, k);
      check_any_order<double>(kGraphs[3], P, k);
    }
  }
}

}  // namespace
}  // namespace sparsecoll::test
