// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests the oracles of sparseAllreduce and of its coordinate form on examples that were computed by
// hand.

#include <limits>

#include "oracle/oracle.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"

namespace sparsecoll {
namespace {

using oracle::DenseInputs;
using oracle::DenseOutcome;
using oracle::Op;
using test::difference;
using Vector = std::vector<float>;
using Oracle = oracle::Oracle<float>;

TEST_CASE("sparseAllreduce of two ranks") {
  const DenseInputs<float> in{{{5, -4, 1, 0}, {1, 3, -5, 2}}, {{0, 0, 0, 0}, {0, 0, 0, 0}}};
  // L_0 = {0: 5, 1: -4}, L_1 = {1: 3, 2: -5}; s = {0: 5, 1: -1, 2: -5}; G = {0, 2}.
  const DenseOutcome<float> out = Oracle::sparse_allreduce(in, 2, Op::kSum);
  CHECK(difference("result", out.result, Vector{5, 0, -5, 0}) == "");
  CHECK(difference("residual 0", out.residuals[0], Vector{0, -4, 1, 0}) == "");
  CHECK(difference("residual 1", out.residuals[1], Vector{1, 3, 0, 2}) == "");
  CHECK(out.delivered == 2);
  CHECK(out.selected == std::vector<std::size_t>{2, 2});
}

TEST_CASE("residuals are added before the selection and message_memory on") {
  const DenseInputs<float> in{{{1, 1, 1}, {0, 0, 0}}, {{0, 4, 0}, {0, 0, -7}}};
  // acc_0 = {1, 5, 1}, acc_1 = {0, 0, -7}; s = {1: 5, 2: -7}; G = {2}.
  const DenseOutcome<float> out = Oracle::sparse_allreduce(in, 1, Op::kSum);
  CHECK(difference("result", out.result, Vector{0, 0, -7}) == "");
  CHECK(difference("residual 0", out.residuals[0], Vector{1, 5, 1}) == "");
  CHECK(difference("residual 1", out.residuals[1], Vector{0, 0, 0}) == "");
}

TEST_CASE("an entry of the result that a rank did not send stays in its residual") {
  const DenseInputs<float> in{{{9, 8}, {0, 3}, {2, 5}}, {{0, 0}, {0, 0}, {0, 0}}};
  // L = {0: 9}, {1: 3}, {1: 5}; s = {0: 9, 1: 8}; G = {0}.
  const DenseOutcome<float> out = Oracle::sparse_allreduce(in, 1, Op::kSum);
  CHECK(difference("result", out.result, Vector{9, 0}) == "");
  CHECK(difference("residual 0", out.residuals[0], Vector{0, 8}) == "");
  CHECK(difference("residual 2", out.residuals[2], Vector{2, 5}) == "");
}

TEST_CASE("k = 0 moves the gradients into the residuals") {
  const DenseInputs<float> in{{{1, 2}, {3, 4}}, {{1, 0}, {0, 1}}};
  const DenseOutcome<float> out = Oracle::sparse_allreduce(in, 0, Op::kSum);
  CHECK(difference("result", out.result, Vector{0, 0}) == "");
  CHECK(difference("residual 0", out.residuals[0], Vector{2, 2}) == "");
  CHECK(difference("residual 1", out.residuals[1], Vector{3, 5}) == "");
}

TEST_CASE("cancelled sums are not selected and stay in the residuals") {
  const DenseInputs<float> in{{{6, 1}, {-6, 0}}, {{0, 0}, {0, 0}}};
  const DenseOutcome<float> out = Oracle::sparse_allreduce(in, 2, Op::kSum);
  CHECK(difference("result", out.result, Vector{0, 1}) == "");
  CHECK(difference("residual 0", out.residuals[0], Vector{6, 0}) == "");
  CHECK(difference("residual 1", out.residuals[1], Vector{-6, 0}) == "");
}

TEST_CASE("an average divides after the selection, and -0 comes out as +0") {
  const float tiny = std::numeric_limits<float>::denorm_min();
  const DenseInputs<float> in{{{-tiny, 6}, {0, 3}}, {}};
  const DenseOutcome<float> out = Oracle::sparse_allreduce(in, 2, Op::kAvg);
  CHECK(difference("result", out.result, Vector{0.0f, 4.5f}) == "");
  CHECK(out.delivered == 2);
  CHECK(out.residuals.empty());
}

TEST_CASE("what is not finite leaves a literal 0 when shipped and stays when not") {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const DenseInputs<float> in{{{inf, -nan, 1}, {-inf, 0, 1}}, {{0, 0, 0}, {0, 0, 0}}};
  // k = 1: L_0 = {1: NaN}, L_1 = {0: -Inf}; NaN wins.
  const DenseOutcome<float> one = Oracle::sparse_allreduce(in, 1, Op::kSum);
  CHECK(difference("result", one.result, Vector{0, nan, 0}) == "");
  CHECK(difference("residual 0", one.residuals[0], Vector{inf, 0, 1}) == "");
  CHECK(difference("residual 1", one.residuals[1], Vector{-inf, 0, 1}) == "");
  // k = 2: Inf - Inf is a NaN too.
  const DenseOutcome<float> two = Oracle::sparse_allreduce(in, 2, Op::kSum);
  CHECK(difference("result", two.result, Vector{nan, nan, 0}) == "");
  CHECK(difference("residual 0", two.residuals[0], Vector{0, 0, 1}) == "");
  // k = 2 on rank 1 also selects {2: 1}, which loses against two NaNs.
  CHECK(difference("residual 1", two.residuals[1], Vector{0, 0, 1}) == "");
}

TEST_CASE("the dense form delivers everything in rank order") {
  const DenseInputs<float> in{{{1, 1e8f}, {1e8f, 0}, {-1e8f, -0.0f}}, {{0, 0}, {0, 0}, {0, 0}}};
  const DenseOutcome<float> out = Oracle::dense_allreduce(in, Op::kSum);
  CHECK(difference("result", out.result, Vector{0, 1e8f}) == "");
  for (const Vector& residual : out.residuals) CHECK(residual == Vector{0, 0});
}

}  // namespace
}  // namespace sparsecoll
