// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Compares the `v` verbs with their definitions.

#include "support/catch.hpp"
#include "support/sweep.hpp"

namespace sparsecoll::test {
namespace {

void sweep_all(const Mode& mode) {
  for (const int P : rank_counts()) CHECK(sparse_sweep(mode, P) == "");
}

TEST_CASE("sparseAllreducev, Auto, is its definition") { sweep_all(kAuto); }

TEST_CASE("sparseAllreducev, Allgather, is its definition") { sweep_all(kAllgather); }

TEST_CASE("sparseAllreducev, Oktopk, is its definition") { sweep_all(kOktopk); }

TEST_CASE("gtopkAllreducev is the merge tree, with conserving residuals") { sweep_all(kGtopk); }

TEST_CASE("gtopkAllreducev is the merge tree, with the paper's residuals") {
  sweep_all(kGtopkPaper);
}

TEST_CASE("indices far above 2^32 in many calls of one shape") {
  for (const Mode& mode : kTopkModes) {
    const Ranks ranks(5, config_of(mode));
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      SparseCase c{seed, mode, std::uint64_t{1} << 40, 33, SparseKind::kHeavyTail};
      c.index_type = sparsecollIndex64;
      c.type = some_type(seed);
      CHECK(run_case(ranks, c) == "");
      c.k = SPARSECOLL_ALL;
      c.type = some_type(seed + 1);
      CHECK(run_case(ranks, c) == "");
    }
  }
}

TEST_CASE("a k far above what anybody has costs nothing") {
  for (const Mode& mode : kTopkModes) {
    for (const int P : {1, 2, 3, 4}) {
      const Ranks ranks(P, config_of(mode));
      SparseCase c{base_seed(), mode, std::uint64_t{1} << 40, 0, SparseKind::kRandom};
      c.index_type = sparsecollIndex64;
      for (const int exponent : {20, 39, 40, 62}) {
        c.k = std::size_t{1} << exponent;
        CHECK(run_case(ranks, c) == "");
      }
    }
  }
}

TEST_CASE("dense lengths up to the largest number there is") {
  for (const Mode& mode : kTopkModes) {
    for (const int P : {1, 2, 3, 4}) {
      const Ranks ranks(P, config_of(mode));
      for (const std::uint64_t count : {(std::uint64_t{1} << 32) + 64, std::uint64_t{1} << 63,
                                        UINT64_MAX - 4096, UINT64_MAX - 1, UINT64_MAX}) {
        SparseCase c{base_seed(), mode, count, 33, SparseKind::kRandom};
        c.index_type = sparsecollIndex64;
        for (const std::size_t k : {std::size_t{33}, SPARSECOLL_ALL - 1, SPARSECOLL_ALL}) {
          c.k = k;
          CHECK(run_case(ranks, c) == "");
        }
      }
    }
  }
}

TEST_CASE("32-bit indices reach the last index that they can hold") {
  for (const Mode& mode : kTopkModes) {
    const Ranks ranks(4, config_of(mode));
    SparseCase c{base_seed(), mode, std::uint64_t{1} << 32, 33, SparseKind::kRandom};
    for (const std::size_t k : {std::size_t{33}, SPARSECOLL_ALL}) {
      c.k = k;
      CHECK(run_case(ranks, c) == "");
    }
  }
}

}  // namespace
}  // namespace sparsecoll::test
