// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests pushSumStep in every floating-point type, with its roundings.

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/push_sum.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::test {
namespace {

/// One step of all ranks with one out-neighbour each, with every rounding: messages are rounded to
/// the type, and sums are formed in the accumulation type and rounded once.
template <class T>
void step_with_roundings(const oracle::MixingMatrix& matrix, std::vector<std::vector<T>>& x,
                         std::vector<double>& w) {
  using Acc = oracle::Wide<T>;
  const auto before = x;
  const auto weights = w;
  for (std::size_t to = 0; to < x.size(); ++to) {
    for (std::size_t i = 0; i < x[to].size(); ++i) {
      Acc sum = before[to][i];
      for (std::size_t j = 0; j < x.size(); ++j)
        if (j != to && matrix[j][to] > 0)
          sum -= static_cast<Acc>(
              static_cast<T>(static_cast<Acc>(matrix[j][to]) * static_cast<Acc>(before[to][i])));
      for (std::size_t from = 0; from < x.size(); ++from)
        if (from != to && matrix[to][from] > 0)
          sum += static_cast<Acc>(static_cast<T>(static_cast<Acc>(matrix[to][from]) *
                                                 static_cast<Acc>(before[from][i])));
      x[to][i] = static_cast<T>(sum + Acc{0});
    }
    for (std::size_t j = 0; j < x.size(); ++j)
      if (j != to && matrix[j][to] > 0) w[to] -= matrix[j][to] * weights[to];
    for (std::size_t from = 0; from < x.size(); ++from)
      if (from != to && matrix[to][from] > 0) w[to] += matrix[to][from] * weights[from];
  }
}

template <class T>
void check_bits() {
  for (const int P : {1, 2, 3, 5, 8}) {
    for (const GraphCase& graph : {kGraphs[0], kGraphs[6], kGraphs[7]}) {
      for (const Kind kind : {Kind::kHeavyTail, Kind::kDenormals, Kind::kSignedZeros}) {
        INFO(graph.name << ", P=" << P << ", " << name_of(kind));
        const auto start = make_data_of_all<T>(kind, 50, P, base_seed());
        const Ranks ranks(P, default_config());
        CHECK(ranks.run("bits", [&](int rank) -> std::string {
          const auto r = static_cast<std::size_t>(rank);
          auto want = start;
          std::vector<double> w(start.size(), 1.0);
          std::vector<T> x = start[r], estimate(50), want_estimate(50);
          const PushSum<T> state(ranks.comm(rank), 50, graph.config());
          for (std::uint64_t t = 0; t < 6; ++t) {
            if (const auto result = state.step(x, &estimate); result != sparsecollSuccess)
              return explain(result, ranks.comm(rank));
            step_with_roundings(graph.matrix(P, t), want, w);
            using Acc = oracle::Wide<T>;
            for (std::size_t i = 0; i < 50; ++i)
              want_estimate[i] =
                  static_cast<T>(static_cast<Acc>(want[r][i]) / static_cast<Acc>(w[r]) + Acc{0});
            const std::string wrong =
                difference("x", x, want[r]) + difference("estimate", estimate, want_estimate);
            if (!wrong.empty()) return wrong;
          }
          return "";
        }) == "");
      }
    }
  }
}

TEST_CASE("every type: what is sent is rounded, sums are rounded once") {
  check_bits<float>();
  check_bits<double>();
  check_bits<oracle::Float16>();
  check_bits<oracle::Bfloat16>();
}

template <class T>
void check_compressed_halves(double tolerance) {
  const int P = 4;
  sparsecollPushSumConfig_t config = kExponential.config();
  config.k = 20;
  config.mixing = 0.5;
  auto x = make_data_of_all<T>(Kind::kIntegers, 100, P, base_seed());
  const std::vector<double> sum = sum_of(x);
  const Ranks ranks(P, default_config());
  CHECK(ranks.run("compressed", [&](int rank) -> std::string {
    const PushSum<T> state(ranks.comm(rank), 100, config);
    for (int t = 0; t < 60; ++t)
      if (const auto result = state.step(x[static_cast<std::size_t>(rank)]);
          result != sparsecollSuccess)
        return explain(result, ranks.comm(rank));
    return "";
  }) == "");
  std::vector<double> mean = sum;
  for (double& value : mean) value /= P;
  CHECK(distance("sum of x", sum_of(x), sum, tolerance) == "");
  for (const auto& each : x) CHECK(distance("mean", each, mean, tolerance) == "");
}

TEST_CASE("compressed gossip of 16-bit values keeps the sum and finds the mean, within roundings") {
  check_compressed_halves<oracle::Float16>(0.02);
  check_compressed_halves<oracle::Bfloat16>(0.15);
}

TEST_CASE("integers have no parts") {
  const Ranks ranks(2, default_config());
  CHECK(ranks.run("integers", [&](int rank) -> std::string {
    for (const auto type : {sparsecollInt32, sparsecollInt64}) {
      sparsecollPushSum_t state = nullptr;
      if (sparsecollPushSumCreate(&state, 3, type, nullptr, ranks.comm(rank)) !=
          sparsecollInvalidArgument)
        return "not refused";
    }
    return "";
  }) == "");
}

}  // namespace
}  // namespace sparsecoll::test
