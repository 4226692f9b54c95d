// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests many calls in a row: how residuals develop, and what calls of one shape leave for calls of
// another.

#include <vector>

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

constexpr std::size_t kLength = 257;
constexpr std::size_t kKept = 12;

using Vectors = std::vector<std::vector<float>>;

std::vector<double> sum_by_index(const Vectors& vectors) {
  std::vector<double> sum(kLength, 0.0);
  for (const std::vector<float>& vector : vectors) {
    for (std::size_t i = 0; i < kLength; ++i) sum[i] += vector[i];
  }
  return sum;
}

/// Makes one call. Afterwards `residuals` are those of the ranks, and `result` is that of rank 0.
std::string step(const Ranks& ranks, const Mode& mode, const Vectors& sends,
                 const std::vector<Residual<float>>& handles, Vectors& residuals,
                 std::vector<float>& result) {
  Vectors recv(sends.size(), std::vector<float>(kLength));
  const std::string verdict = ranks.run(mode.name, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    const DenseCall<float> call{sends[r].data(), recv[r].data(), kLength,
                                kKept,           sparsecollSum,  handles[r].handle()};
    const sparsecollResult_t got = call_dense_verb(mode.verb, call, ranks.comm(rank));
    residuals[r] = handles[r].read();
    return expect("the verb", got, sparsecollSuccess, ranks.comm(rank));
  });
  for (const std::vector<float>& other : recv) {
    if (other != recv[0]) return "ranks differ";
  }
  result = recv[0];
  return verdict;
}

/// Checks the invariant, index by index: residuals after + delivered = gradients + residuals
/// before.
std::string conserve(const Ranks& ranks, const Mode& mode, Kind kind, int calls) {
  const int P = ranks.size();
  const auto handles = make_residuals<float>(ranks.comms(), kLength, true);
  Vectors residuals(static_cast<std::size_t>(P), std::vector<float>(kLength, 0.0f));
  for (int call = 0; call < calls; ++call) {
    const std::uint64_t seed = base_seed() * 50 + static_cast<unsigned>(call);
    const Vectors sends = make_data_of_all<float>(kind, kLength, P, seed);
    const std::vector<double> before = sum_by_index(residuals);
    std::vector<float> result;
    const std::string verdict = step(ranks, mode, sends, handles, residuals, result);
    if (!verdict.empty()) return verdict;
    const std::vector<double> sent = sum_by_index(sends);
    const std::vector<double> after = sum_by_index(residuals);
    for (std::size_t i = 0; i < kLength; ++i) {
      if (after[i] + result[i] == before[i] + sent[i]) continue;
      return std::string(mode.name) + " P=" + std::to_string(P) + " data=" + name_of(kind) +
             " seed=" + std::to_string(seed) + " call=" + std::to_string(call) + ": index " +
             std::to_string(i) + " lost " +
             std::to_string(before[i] + sent[i] - after[i] - result[i]);
    }
  }
  return "";
}

TEST_CASE("mass is conserved exactly over 50 calls, index by index") {
  for (const int P : rank_counts()) {
    for (const Mode& mode : kConservingModes) {
      const Ranks ranks(P, config_of(mode));
      for (const Kind kind : kIntegerKinds) {
        CHECK(conserve(ranks, mode, kind, small_run() ? 5 : 50) == "");
      }
    }
  }
}

TEST_CASE("50 calls in a row equal the oracle's 50 calls") {
  std::uint64_t number = 0;
  for (const int P : {2, 3, 4, 5, 8}) {
    for (const Mode& mode : kTopkModes) {
      const Ranks ranks(P, config_of(mode));
      for (const Kind kind : {Kind::kHeavyTail, Kind::kDenormals, Kind::kNotFinite}) {
        const Case c{base_seed(),
                     mode,
                     301,
                     9,
                     kind,
                     oracle::Op::kAvg,
                     some_type(number++),
                     true,
                     false,
                     small_run() ? 8 : 50};
        CHECK(run_case(ranks, c) == "");
      }
    }
  }
}

TEST_CASE("shapes that alternate on one communicator do not disturb each other") {
  for (const int P : {1, 3, 4, 7}) {
    for (const Mode& mode : kTopkModes) {
      const Ranks ranks(P, config_of(mode));
      for (std::uint64_t call = 0; call < (small_run() ? 10 : 60); ++call) {
        const std::uint64_t h = noise(base_seed() + call, static_cast<std::uint64_t>(P));
        const std::size_t n = std::size_t{1} << (h >> 8) % 11;
        const Case c{call,
                     mode,
                     n,
                     1 + n / 16,
                     kAllKinds[(h >> 16) % std::size(kAllKinds)],
                     oracle::Op::kSum,
                     some_type(h),
                     (h & 32) != 0,
                     false,
                     1};
        CHECK(run_case(ranks, c) == "");
        SparseCase v{call, mode, n, 1 + n / 16, SparseKind::kRandom};
        v.index_type = h % 4 < 2 ? sparsecollIndex32 : sparsecollIndex64;
        CHECK(run_case(ranks, v) == "");
      }
    }
  }
}

TEST_CASE("new cuts at every call or every other call change no result") {
  for (const int interval : {1, 2}) {
    for (const int P : {2, 3, 5, 8}) {
      sparsecollConfig_t config = config_of(kOktopk);
      config.repartitionInterval = interval;
      config.thresholdInterval = interval;
      const Ranks ranks(P, config);
      std::uint64_t h = static_cast<std::uint64_t>(P);
      for (const Kind kind : {Kind::kHeavyTail, Kind::kOneRegion, Kind::kHotBlock}) {
        const Case c{base_seed(),      kOktopk,        1000, 25,    kind,
                     oracle::Op::kSum, some_type(h++), true, false, 6};
        CHECK(run_case(ranks, c) == "");
      }
    }
  }
}

TEST_CASE("data that move between regions from call to call change no result") {
  for (const int P : {2, 4, 7}) {
    const Ranks ranks(P, config_of(kOktopk));
    for (std::uint64_t call = 0; call < 30; ++call) {
      const Kind kinds[] = {Kind::kOneRegion, Kind::kHotBlock, Kind::kOneNonZero, Kind::kAllZero,
                            Kind::kHeavyTail};
      const Case c{call,  kOktopk, 3000, 60, kinds[call % 5], oracle::Op::kSum, some_type(call),
                   false, false,   1};
      CHECK(run_case(ranks, c) == "");
    }
  }
}

}  // namespace
}  // namespace sparsecoll::test
