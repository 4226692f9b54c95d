// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests the oracles of the coordinate form: by hand, and in combination against the oracles of the
// dense verbs.

#include <limits>

#include "oracle/oracle.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/data.hpp"

namespace sparsecoll {
namespace {

using oracle::DenseInputs;
using oracle::DenseOutcome;
using oracle::kAll;
using oracle::Op;
using oracle::Rule;
using oracle::Sparse;
using oracle::SparseInputs;
using oracle::SparseOutcome;
using test::difference;
using Vector = std::vector<float>;
using Oracle = oracle::Oracle<float>;

const float kTiny = std::numeric_limits<float>::denorm_min();

TEST_CASE("topk ships the largest of gradient + residual") {
  const SparseOutcome<float> out = Oracle::topk({1, -2, 0, 4}, {0, -3, 1, 0}, 2);
  CHECK(difference("selected", out.result, {{1, -5}, {3, 4}}) == "");
  CHECK(difference("residual", out.residuals[0], Vector{1, 0, 1, 0}) == "");
  CHECK(Oracle::topk({1, 2}, {}, 1).residuals.empty());
}

TEST_CASE("all entries: zeros and cancellations are kept, -0 is not") {
  const SparseInputs<float> in{{{{1, 2}, {4, -0.0f}}, {{1, -2}, {7, 0}}, {}},
                               {Vector(9, 1), Vector(9, 1), Vector(9, 1)}};
  const Sparse<float> want{{1, 0}, {4, 0}, {7, 0}};
  const SparseOutcome<float> sparse = Oracle::sparse_allreducev(in, kAll, Op::kSum);
  CHECK(difference("result", sparse.result, want) == "");
  CHECK(sparse.residuals == in.residuals);
  const SparseOutcome<float> tree = Oracle::gtopk_allreducev(in, kAll, Op::kSum, Rule::kConserving);
  CHECK(difference("result", tree.result, want) == "");
  CHECK(tree.residuals == in.residuals);
}

TEST_CASE("with a k zeros go, and what was not delivered is added to the residual") {
  const SparseInputs<float> in{{{{1, 2}, {4, 0}, {6, 8}}, {{1, -2}, {6, 1}, {7, 3}}},
                               {Vector(9, 10), Vector(9, 20)}};
  // s = {1: 0, 4: 0, 6: 9, 7: 3}; k = 1 delivers 9@6.
  const SparseOutcome<float> out = Oracle::sparse_allreducev(in, 1, Op::kAvg);
  CHECK(difference("result", out.result, {{6, 4.5f}}) == "");
  CHECK(difference("residual 0", out.residuals[0], Vector{10, 12, 10, 10, 10, 10, 10, 10, 10}) ==
        "");
  CHECK(difference("residual 1", out.residuals[1], Vector{20, 18, 20, 20, 20, 20, 20, 23, 20}) ==
        "");
}

TEST_CASE("an average that underflows stays in the result as +0") {
  const SparseInputs<float> in{{{{3, -kTiny}}, {}}, {}};
  CHECK(difference("result", Oracle::sparse_allreducev(in, 2, Op::kAvg).result, {{3, 0}}) == "");
}

TEST_CASE("gtopk returns what it did not select from a longer input, and what it dropped") {
  const SparseInputs<float> in{{{{0, 2}, {1, 5}}, {{0, 4}}, {{0, 7}}},
                               {Vector(2, 0), Vector(2, 0), Vector(2, 0)}};
  // k = 1: L = 5@1, 4@0, 7@0. Rank 0 keeps 5@1, drops 4@0; then 7@0 wins: G = {0}.
  const SparseOutcome<float> out = Oracle::gtopk_allreducev(in, 1, Op::kSum, Rule::kConserving);
  CHECK(difference("result", out.result, {{0, 7}}) == "");
  CHECK(difference("residual 0", out.residuals[0], Vector{2 + 4, 5}) == "");
  CHECK(difference("residual 1", out.residuals[1], Vector{0, 0}) == "");
  CHECK(difference("residual 2", out.residuals[2], Vector{0, 0}) == "");
  const SparseOutcome<float> paper = Oracle::gtopk_allreducev(in, 1, Op::kSum, Rule::kPaper);
  CHECK(difference("residual 0", paper.residuals[0], Vector{2, 5}) == "");
}

TEST_CASE("Topk, the v verb and Scatter compose to the dense verb") {
  for (const test::Kind kind : test::kAllKinds) {
    for (const int P : {1, 2, 3, 4, 5, 8}) {
      DenseInputs<float> in{test::make_data_of_all<float>(kind, 50, P, 3), {}};
      in.residuals = test::make_data_of_all<float>(test::Kind::kIntegers, 50, P, 4);
      SparseInputs<float> selected;
      for (int r = 0; r < P; ++r) {
        const auto rank = static_cast<std::size_t>(r);
        SparseOutcome<float> local = Oracle::topk(in.sends[rank], in.residuals[rank], 7);
        selected.sends.push_back(local.result);
        selected.residuals.push_back(local.residuals[0]);
      }
      INFO("P = " << P << ", data " << test::name_of(kind));
      const DenseOutcome<float> sparse = Oracle::sparse_allreduce(in, 7, Op::kSum);
      const SparseOutcome<float> composed = Oracle::sparse_allreducev(selected, 7, Op::kSum);
      CHECK(difference("result", Oracle::scatter(composed.result, 50), sparse.result) == "");
      const DenseOutcome<float> gtopk = Oracle::gtopk_allreduce(in, 7, Op::kSum, Rule::kConserving);
      const SparseOutcome<float> tree =
          Oracle::gtopk_allreducev(selected, 7, Op::kSum, Rule::kConserving);
      CHECK(difference("result", Oracle::scatter(tree.result, 50), gtopk.result) == "");
      for (std::size_t r = 0; r < in.sends.size(); ++r) {
        CHECK(difference("residual", composed.residuals[r], sparse.residuals[r]) == "");
        CHECK(difference("residual", tree.residuals[r], gtopk.residuals[r]) == "");
      }
    }
  }
}

}  // namespace
}  // namespace sparsecoll
