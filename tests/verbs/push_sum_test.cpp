// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Compares pushSumStep with dense mixing matrices for every graph and every P; tests that x and w
// are conserved, and where the mean is exact.

#include "support/push_sum.hpp"

#include <atomic>
#include <numeric>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::test {
namespace {

/// The state of every rank after every step: [step][rank]. Index 0 is before the first step.
struct Course {
  std::vector<std::vector<std::vector<double>>> x;
  std::vector<std::vector<double>> w;
};

template <class T>
Course course(const GraphCase& graph, const std::vector<std::vector<T>>& start, int steps) {
  std::vector<std::vector<double>> x;
  for (const auto& each : start) x.push_back(wide(each));
  oracle::PushSumReplay replay(x);
  Course result;
  for (int t = 0;; ++t) {
    auto& xs = result.x.emplace_back();
    auto& ws = result.w.emplace_back();
    for (int r = 0; r < replay.ranks(); ++r) {
      xs.push_back(replay.x(r));
      ws.push_back(replay.weight(r));
    }
    if (t == steps) return result;
    replay.step_of_all(graph.matrix(replay.ranks(), static_cast<std::uint64_t>(t)));
  }
}

/// All ranks make `steps` steps, each of which is compared with the oracle's. *last gets their
/// final x.
template <class T>
std::string follow(const GraphCase& graph, const std::vector<std::vector<T>>& start, int steps,
                   std::vector<std::vector<T>>* last) {
  const int P = static_cast<int>(start.size());
  const Course want = course(graph, start, steps);
  const Ranks ranks(P, default_config());
  *last = start;
  return ranks.run(graph.name, [&](int rank) -> std::string {
    const auto r = static_cast<std::size_t>(rank);
    std::vector<T>& x = (*last)[r];
    std::vector<T> estimate(x.size());
    const PushSum<T> state(ranks.comm(rank), x.size(), graph.config());
    for (std::size_t t = 1; t <= static_cast<std::size_t>(steps); ++t) {
      const std::string after = " after step " + std::to_string(t);
      // Every third step asks for no estimate.
      const auto result = state.step(x, t % 3 == 0 ? nullptr : &estimate);
      if (result != sparsecollSuccess) return explain(result, ranks.comm(rank));
      std::string wrong = distance("x" + after, x, want.x[t][r], kTolerance<T>);
      if (std::fabs(state.weight() - want.w[t][r]) > 1e-14) wrong += "; wrong weight" + after;
      const T weight = static_cast<T>(state.weight());
      for (std::size_t i = 0; i < x.size() && t % 3 != 0; ++i)
        if (estimate[i] != x[i] / weight) wrong += "; wrong estimate" + after;
      if (!wrong.empty()) return wrong;
    }
    return "";
  });
}

template <class T>
void check_graphs(std::size_t n) {
  for (const int P : rank_counts()) {
    for (const GraphCase& graph : kGraphs) {
      INFO(graph.name << ", P=" << P << ", n=" << n);
      const auto start = make_data_of_all<T>(Kind::kHeavyTail, n, P, base_seed());
      std::vector<std::vector<T>> last;
      CHECK(follow(graph, start, 9, &last) == "");
      CHECK(distance("sum of x", sum_of(last), sum_of(start), sizeof(T) == 4 ? 1e-6 : 1e-12) == "");
    }
  }
}

TEST_CASE("a step is a product with the graph's mixing matrix") {
  check_graphs<double>(33);
  check_graphs<float>(33);
  check_graphs<double>(0);
  check_graphs<float>(3000);
}

TEST_CASE("sums of x and w stay what they are over many steps, whatever the graph") {
  for (const GraphCase& graph : kGraphs) {
    for (const int P : {3, 6, 8}) {
      INFO(graph.name << ", P=" << P);
      const auto start = make_data_of_all<double>(Kind::kWideIntegers, 50, P, base_seed());
      auto last = start;
      std::vector<double> weights(static_cast<std::size_t>(P));
      const Ranks ranks(P, default_config());
      CHECK(ranks.run("many steps", [&](int rank) -> std::string {
        const auto r = static_cast<std::size_t>(rank);
        const PushSum<double> state(ranks.comm(rank), 50, graph.config());
        for (int t = 0; t < 300; ++t)
          if (const auto result = state.step(last[r]); result != sparsecollSuccess)
            return explain(result, ranks.comm(rank));
        weights[r] = state.weight();
        return "";
      }) == "");
      CHECK(distance("sum of x", sum_of(last), sum_of(start), 1e-12) == "");
      CHECK(std::fabs(std::accumulate(weights.begin(), weights.end(), 0.0) - P) <= 1e-12 * P);
      // All graphs mix, so that every rank has the mean by now.
      for (std::size_t r = 0; r < last.size(); ++r) {
        std::vector<double> mean = sum_of(start);
        for (double& value : mean) value *= weights[r] / P;
        CHECK(distance("mean", last[r], mean, 1e-6) == "");
      }
    }
  }
}

TEST_CASE("the mean is exact after log2 P steps where P is a power of two") {
  for (const int P : {1, 2, 4, 8, 16}) {
    const auto start = make_data_of_all<double>(Kind::kWideIntegers, 100, P, base_seed());
    const std::vector<double> sum = sum_of(start);
    const Ranks ranks(P, default_config());
    CHECK(ranks.run("exact mean", [&](int rank) -> std::string {
      std::vector<double> x = start[static_cast<std::size_t>(rank)], estimate(x.size());
      const PushSum<double> state(ranks.comm(rank), 100, kExponential.config());
      for (int reach = 1; reach <= P; reach *= 2)  // a step more than needed
        if (const auto result = state.step(x, &estimate); result != sparsecollSuccess)
          return explain(result, ranks.comm(rank));
      for (std::size_t i = 0; i < x.size(); ++i)
        if (estimate[i] != sum[i] / P) return "not the mean";
      return "";
    }) == "");
  }
}

TEST_CASE("awkward values: nothing but NaNs is invented, and they are canonical") {
  for (const Kind kind : kAllKinds) {
    const auto start = make_data_of_all<float>(kind, 200, 3, base_seed());
    const Ranks ranks(3, default_config());
    INFO(name_of(kind));
    CHECK(ranks.run("awkward", [&](int rank) -> std::string {
      std::vector<float> x = start[static_cast<std::size_t>(rank)], estimate(x.size());
      const PushSum<float> state(ranks.comm(rank), 200, kExponential.config());
      for (int t = 0; t < 3; ++t)
        if (const auto result = state.step(x, &estimate); result != sparsecollSuccess)
          return explain(result, ranks.comm(rank));
      for (std::size_t i = 0; i < x.size(); ++i) {
        bool finite = true;
        for (const auto& each : start) finite = finite && std::isfinite(each[i]);
        for (const float value : {x[i], estimate[i]}) {
          if (value != value && bits(value) != 0x7fc00000u) return "a NaN that is not canonical";
          if (value != value && finite) return "a NaN out of finite values";
          if (bits(value) == 0x80000000u) return "a negative zero";
        }
      }
      return "";
    }) == "");
  }
}

/// Rank 0 gives nothing, the others give to every lower rank, unevenly.
int downwards(void* user, int rank, int nranks, std::uint64_t step, int* neighbours,
              double* weights, int capacity) {
  if (rank >= nranks || capacity != nranks - 1) return -1;
  ++*static_cast<std::atomic<int>*>(user);
  for (int i = 0; i < rank; ++i) {
    neighbours[i] = i;
    weights[i] = (step % 2 == 0 ? 0.5 : 1.0) / rank;
  }
  return rank;
}

TEST_CASE("a custom graph moves mass by its weights, all of it where they sum to 1") {
  for (const int P : rank_counts()) {
    std::atomic<int> asked{0};
    sparsecollPushSumConfig_t config = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
    config.graph = sparsecollGraphCustom;
    config.outNeighbours = downwards;
    config.user = &asked;
    const auto start = make_data_of_all<double>(Kind::kWideIntegers, 20, P, base_seed());
    auto last = start;
    std::vector<double> weights(static_cast<std::size_t>(P));
    const Ranks ranks(P, default_config());
    INFO("P=" << P);
    CHECK(ranks.run("custom", [&](int rank) -> std::string {
      const auto r = static_cast<std::size_t>(rank);
      const PushSum<double> state(ranks.comm(rank), 20, config);
      for (int t = 0; t < 2; ++t)
        if (const auto result = state.step(last[r]); result != sparsecollSuccess)
          return explain(result, ranks.comm(rank));
      weights[r] = state.weight();
      return "";
    }) == "");
    CHECK(distance("sum of x", sum_of(last), sum_of(start), 1e-12) == "");
    CHECK(std::fabs(std::accumulate(weights.begin(), weights.end(), 0.0) - P) <= 1e-12 * P);
    // The last rank gave half, then everything that was left.
    if (P > 1) CHECK(std::fabs(weights.back()) < 1e-15);
    CHECK(asked > 0);
  }
}

}  // namespace
}  // namespace sparsecoll::test
