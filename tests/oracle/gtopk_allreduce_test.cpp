// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests the oracle of gtopkAllreduce on trees that are small enough to compute by hand.

#include "oracle/oracle.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/data.hpp"

namespace sparsecoll {
namespace {

using oracle::DenseInputs;
using oracle::DenseOutcome;
using oracle::Op;
using oracle::Rule;
using test::difference;
using Vector = std::vector<float>;
using Oracle = oracle::Oracle<float>;

DenseInputs<float> with_feedback(oracle::PerRank<Vector> sends) {
  DenseInputs<float> in{std::move(sends), {}};
  for (const Vector& send : in.sends) in.residuals.emplace_back(send.size(), 0.0f);
  return in;
}

TEST_CASE("what a receiver dropped returns to it when the index is in the result after all") {
  const DenseInputs<float> in = with_feedback({{3, 0}, {0, 4}, {5, 0}, {1, 0}});
  // Level 0: S_0 = top(3@0, 4@1) = 4@1, rank 0 dropped 3@0; S_2 = 6@0.
  // Level 1: S_0 = top(4@1, 6@0) = 6@0, rank 0 dropped 4@1, whose index is not in the result.
  const DenseOutcome<float> keep = Oracle::gtopk_allreduce(in, 1, Op::kSum, Rule::kConserving);
  CHECK(difference("result", keep.result, Vector{6, 0}) == "");
  CHECK(difference("residual 0", keep.residuals[0], Vector{3, 0}) == "");
  CHECK(difference("residual 1", keep.residuals[1], Vector{0, 4}) == "");
  CHECK(difference("residual 2", keep.residuals[2], Vector{0, 0}) == "");
  CHECK(difference("residual 3", keep.residuals[3], Vector{0, 0}) == "");

  const DenseOutcome<float> lose = Oracle::gtopk_allreduce(in, 1, Op::kSum, Rule::kPaper);
  CHECK(difference("result", lose.result, Vector{6, 0}) == "");
  CHECK(difference("residual 0", lose.residuals[0], Vector{0, 0}) == "");
  CHECK(difference("residual 1", lose.residuals[1], Vector{0, 4}) == "");
}

TEST_CASE("a missing partner passes through, and the receiver's own value stays beside the drop") {
  const DenseInputs<float> in = with_feedback({{1, 4}, {3, 0}, {6, 0}});
  // Level 0: S_0 = 4@1, rank 0 dropped rank 1's 3@0; rank 2 passes. Level 1: S_0 = 6@0.
  const DenseOutcome<float> out = Oracle::gtopk_allreduce(in, 1, Op::kSum, Rule::kConserving);
  CHECK(difference("result", out.result, Vector{6, 0}) == "");
  CHECK(difference("residual 0", out.residuals[0], Vector{1 + 3, 4}) == "");
  CHECK(difference("residual 1", out.residuals[1], Vector{0, 0}) == "");
  CHECK(difference("residual 2", out.residuals[2], Vector{0, 0}) == "");
}

TEST_CASE("the same index dropped twice by one receiver adds up") {
  const DenseInputs<float> in = with_feedback(
      {{2, 0, 0}, {0, 5, 0}, {1, 0, 0}, {0, 0, 0}, {9, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}});
  // Rank 0 drops 2@0 against 5@1, then 1@0 of rank 2 against 5@1; then 9@0 wins.
  const DenseOutcome<float> out = Oracle::gtopk_allreduce(in, 1, Op::kSum, Rule::kConserving);
  CHECK(difference("result", out.result, Vector{9, 0, 0}) == "");
  CHECK(difference("residual 0", out.residuals[0], Vector{3, 0, 0}) == "");
  CHECK(difference("residual 1", out.residuals[1], Vector{0, 5, 0}) == "");
  CHECK(difference("residual 2", out.residuals[2], Vector{0, 0, 0}) == "");
}

TEST_CASE("the tree adds in pairs, not in rank order") {
  const DenseInputs<float> in{{{1}, {1e8f}, {-1e8f}, {1}}, {}};
  // (1 + 1e8) + (-1e8 + 1) = 1e8 - 1e8; in rank order the last 1 would survive.
  CHECK(Oracle::gtopk_allreduce(in, 1, Op::kSum, Rule::kConserving).result == Vector{0});
  CHECK(Oracle::sparse_allreduce(in, 1, Op::kSum).result == Vector{1});
}

TEST_CASE("one rank keeps its own top-k, as an average too") {
  const DenseInputs<float> in = with_feedback({{1, -3, 2}});
  const DenseOutcome<float> out = Oracle::gtopk_allreduce(in, 2, Op::kAvg, Rule::kConserving);
  CHECK(difference("result", out.result, Vector{0, -3, 2}) == "");
  CHECK(difference("residual", out.residuals[0], Vector{1, 0, 0}) == "");
}

TEST_CASE("the conserving rule conserves for every P; the paper's rule does not") {
  bool paper_lost = false;
  for (int P = 1; P <= 16; ++P) {
    DenseInputs<float> in =
        with_feedback(test::make_data_of_all<float>(test::Kind::kWideIntegers, 60, P, 5));
    for (const Rule rule : {Rule::kConserving, Rule::kPaper}) {
      const DenseOutcome<float> out = Oracle::gtopk_allreduce(in, 6, Op::kSum, rule);
      double before = 0;
      double after = 0;
      for (const Vector& send : in.sends) {
        for (const float value : send) before += value;
      }
      for (const float value : out.result) after += value;
      for (const Vector& residual : out.residuals) {
        for (const float value : residual) after += value;
      }
      INFO("P = " << P);
      if (rule == Rule::kConserving) CHECK(before == after);
      if (rule == Rule::kPaper) paper_lost = paper_lost || before != after;
    }
  }
  CHECK(paper_lost);
}

}  // namespace
}  // namespace sparsecoll
