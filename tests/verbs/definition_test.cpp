// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Compares the dense verbs with their definitions: results and residuals, bit for bit, on every
// rank.

#include "support/catch.hpp"
#include "support/sweep.hpp"

namespace sparsecoll::test {
namespace {

void sweep_all(const Mode& mode) {
  for (const int P : rank_counts()) CHECK(sweep(mode, P) == "");
}

TEST_CASE("sparseAllreduce is its definition, by every algorithm") {
  for (const Mode& mode : kSparseModes) {
    DYNAMIC_SECTION(mode.name) { sweep_all(mode); }
  }
}

TEST_CASE("gtopkAllreduce is the merge tree, with conserving residuals") { sweep_all(kGtopk); }

TEST_CASE("gtopkAllreduce is the merge tree, with the paper's residuals") {
  sweep_all(kGtopkPaper);
}

}  // namespace
}  // namespace sparsecoll::test
