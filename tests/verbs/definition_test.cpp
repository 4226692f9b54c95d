// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Dense verbs against their definitions: results and residuals bit for bit, on every rank.

#include "support/catch.hpp"
#include "support/sweep.hpp"

namespace sparsecoll::test {
namespace {

void sweep_all(const Mode& mode) {
  for (const int P : rank_counts()) CHECK(sweep(mode, P) == "");
}

TEST_CASE("sparseAllreduce, Auto, is its definition") { sweep_all(kAuto); }

TEST_CASE("sparseAllreduce, Allgather, is its definition") { sweep_all(kAllgather); }

TEST_CASE("sparseAllreduce, Oktopk, is its definition") { sweep_all(kOktopk); }

TEST_CASE("sparseAllreduce, TopkA2A, is the sum of the selections by shard") {
  sweep_all(kTopkA2A);
}

TEST_CASE("sparseAllreduce, Hierarchical, is its definition with sums by node") {
  sweep_all(kHierarchical);
}

TEST_CASE("sparseAllreduce, Dense, is the sum in rank order") { sweep_all(kDense); }

TEST_CASE("gtopkAllreduce is the merge tree, with conserving residuals") { sweep_all(kGtopk); }

TEST_CASE("gtopkAllreduce is the merge tree, with the paper's residuals") {
  sweep_all(kGtopkPaper);
}

}  // namespace
}  // namespace sparsecoll::test
