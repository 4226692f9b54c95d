// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests vectors that fit neither a cache nor a single block of indices.

#include "support/catch.hpp"
#include "support/sweep.hpp"

namespace sparsecoll::test {
namespace {

std::size_t large_n() { return (std::size_t{1} << (small_run() ? 13 : 20)) + 3; }

std::vector<int> some_rank_counts() {
  return small_run() ? std::vector<int>{3} : std::vector<int>{1, 2, 3, 8};
}

/// Checks two cases of a mode, which are others for every P.
void check_large(const Mode& mode) {
  const std::size_t n = large_n();
  const std::size_t ks[] = {n / 100, n / 1000, 1, n / 20};
  const Kind kinds[] = {Kind::kHeavyTail, Kind::kHotBlock,  Kind::kAllEqual, Kind::kIntegers,
                        Kind::kSkewed,    Kind::kOneRegion, Kind::kDisjoint, Kind::kNotFinite};
  std::uint64_t number = base_seed() * 3000017 + static_cast<std::uint64_t>(mode.algorithm);
  for (const int P : some_rank_counts()) {
    const Ranks ranks(P, config_of(mode));
    for (int i = 0; i < 2; ++i) {
      const std::uint64_t h = noise(++number, 0);
      const Case c{number,           mode,         n,    ks[(h >> 8) % 4], kinds[(h >> 16) % 8],
                   oracle::Op::kSum, some_type(h), true, h % 8 < 4,        1 + i};
      CHECK(run_case(ranks, c) == "");
    }
  }
}

/// Checks so many entries that dense messages are shorter than bitmaps, and all entries.
void check_dense_limit(const Mode& mode) {
  const std::size_t n = large_n() / 4;
  const Ranks ranks(3, config_of(mode));
  for (const std::size_t k : {n / 2, n + 1}) {
    const Case c{base_seed(),      mode,         n,    k,     Kind::kHeavyTail,
                 oracle::Op::kAvg, some_type(k), true, false, 1};
    CHECK(run_case(ranks, c) == "");
  }
}

TEST_CASE("large vectors, Auto") { check_large(kAuto); }

TEST_CASE("large vectors, Allgather") { check_large(kAllgather); }

TEST_CASE("large vectors, Oktopk") { check_large(kOktopk); }

TEST_CASE("large vectors, Dense") { check_large(kDense); }

TEST_CASE("large vectors, TopkA2A") { check_large(kTopkA2A); }

TEST_CASE("large vectors, gtopkAllreduce") {
  check_large(kGtopk);
  check_large(kGtopkPaper);
}

TEST_CASE("large vectors, nearly everything selected") {
  for (const Mode& mode : kTopkModes) check_dense_limit(mode);
}

}  // namespace
}  // namespace sparsecoll::test
