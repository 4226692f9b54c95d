// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// The oracle of sparsecollAlgoSharded on examples that were computed by hand.

#include "oracle/sharded.hpp"

#include <limits>

#include "support/catch.hpp"
#include "support/compare.hpp"

namespace sparsecoll {
namespace {

using oracle::DenseInputs;
using oracle::Op;
using oracle::ShardedCall;
using oracle::ShardedOracle;
using test::difference;
using Vector = std::vector<float>;

TEST_CASE("Sharded on two nodes of two ranks: sums by node, then one shard after the other") {
  const DenseInputs<float> in{{{5, 0, 1, -3, 0, 0, 2, 0},
                               {0, 4, 1, 2, 0, -6, 0, 0},
                               {1, 0, 0, 0, 3, 0, 0, 0},
                               {0, -4, 0, 5, 0, 1, 2, 0}},
                              {4, Vector(8, 0)}};
  // L_00 = {0: 5}, L_10 = {3: 5}: a tie; L_01 = {5: -6}, L_11 = {4: 3}.
  const auto out = ShardedOracle<float>::sparse_allreduce(in, {2, Op::kSum, {0, 0, 1, 1}});
  CHECK(difference("result", out.result, Vector{5, 0, 0, 0, 0, -6, 0, 0}) == "");
  CHECK(difference("residual 0", out.residuals[0], Vector{0, 4, 2, -1, 0, 0, 0, 0}) == "");
  CHECK(difference("residual 1", out.residuals[1], Vector{0, 0, 0, 0, 0, 0, 2, 0}) == "");
  CHECK(difference("residual 2", out.residuals[2], Vector{1, -4, 0, 5, 0, 0, 0, 0}) == "");
  CHECK(difference("residual 3", out.residuals[3], Vector{0, 0, 0, 0, 3, 1, 2, 0}) == "");
  CHECK(out.selected == std::vector<std::size_t>{1, 1, 1, 1});
  CHECK(out.delivered == 2);
}

TEST_CASE("Sharded has as many shards as the smallest node has ranks; others own nothing") {
  // Node 7 has rank 0, node 3 the ranks 1 and 2. One shard, owned by ranks 0 and 1.
  const DenseInputs<float> in{{{1, 0, 0}, {0, 2, 4}, {0, 2, -3}},
                              {{10, 0, 0}, {0, 0, 5}, {99, 99, 99}}};
  // acc = {11, 0, 0} and {0, 4, 6}; L = {0: 11} and {2: 6}.
  const auto out = ShardedOracle<float>::sparse_allreduce(in, {1, Op::kSum, {7, 3, 3}});
  CHECK(difference("result", out.result, Vector{11, 0, 0}) == "");
  CHECK(difference("residual 0", out.residuals[0], Vector{0, 0, 0}) == "");
  CHECK(difference("residual 1", out.residuals[1], Vector{0, 4, 6}) == "");
  CHECK(difference("residual 2", out.residuals[2], Vector{0, 0, 0}) == "");
  CHECK(out.selected == std::vector<std::size_t>{1, 1, 0});
}

TEST_CASE("Sharded cuts k like n, and an average divides by the number of ranks") {
  // One node, three shards of 1, 2 and 2 values with k = 1, 1, 2.
  const DenseInputs<float> in{{{3, 1, 2, 0, 6}, {0, 0, 4, 3, 0}, {0, 2, 0, 0, 0}}, {}};
  const auto out = ShardedOracle<float>::sparse_allreduce(in, {4, Op::kAvg, {}});
  CHECK(difference("result", out.result, Vector{1, 0, 2, 1, 2}) == "");
  CHECK(out.residuals.empty());
  // A residual keeps what the shard did not deliver.
  const DenseInputs<float> with{in.sends, {3, Vector(5, 0)}};
  const auto kept = ShardedOracle<float>::sparse_allreduce(with, {4, Op::kAvg, {}});
  CHECK(difference("residual 1", kept.residuals[1], Vector{0, 3, 0, 0, 0}) == "");
}

TEST_CASE("Sharded with fewer values than shards leaves some shards empty") {
  const DenseInputs<float> in{{{1, 2}, {4, 8}, {16, 32}}, {3, Vector(2, 0)}};
  // Shards [0, 0), [0, 1), [1, 2).
  const auto out = ShardedOracle<float>::sparse_allreduce(in, {9, Op::kSum, {}});
  CHECK(difference("result", out.result, Vector{21, 42}) == "");
  CHECK(out.selected == std::vector<std::size_t>{0, 1, 1});
}

TEST_CASE("Sharded adds in rank order, the residual last, and each addition rounds") {
  const float big = 16777216;  // 2^24: one more is not a float
  const DenseInputs<float> in{{{big, 0}, {1, 0}, {0, 0}}, {{1, 0}, {0, 0}, {0, 0}}};
  const auto out = ShardedOracle<float>::sparse_allreduce(in, {1, Op::kSum, {0, 0, 0}});
  CHECK(out.result[0] == 0);  // k = 1 of three shards goes to the last
  CHECK(out.residuals[0][0] == 0);
  const auto all = ShardedOracle<float>::sparse_allreduce(in, {2, Op::kSum, {0, 0, 1}});
  CHECK(all.result[0] == big);  // (big + 1) + 1, where 1 + 1 + big would be big + 2
}

TEST_CASE("Sharded rounds to 16 bits what is selected of a sum that was not rounded") {
  const DenseInputs<oracle::Float16> in{{{oracle::Float16(2048)}, {oracle::Float16(1)}},
                                        {{0.25f}, {0.0f}}};
  const auto out = ShardedOracle<oracle::Float16>::sparse_allreduce(in, {1, Op::kSum, {4, 4}});
  // Shard 0 of two is empty. acc_01 = 2049 + 0 lies halfway between 2048 and 2050.
  CHECK(static_cast<float>(out.result[0]) == 2048.0f);
  CHECK(out.residuals[0][0] == 0.0f);
  CHECK(out.residuals[1][0] == 1.0f);
}

TEST_CASE("Sharded keeps what is lost on a bfloat16 wire") {
  const DenseInputs<float> in{{{257, 0}, {258, 1}}, {2, Vector(2, 0)}};
  // Each on its own node: L_0 = {0: 257}, which travels as 256; the sum 514 as 512.
  const auto out =
      ShardedOracle<float>::sparse_allreduce(in, {1, Op::kSum, {0, 1}, oracle::Wire::kBf16});
  CHECK(difference("result", out.result, Vector{512, 0}) == "");
  CHECK(out.residuals[0][0] + out.residuals[1][0] == 3);
  CHECK(out.residuals[1][1] == 1);
}

TEST_CASE("Sharded's reduce-scatter returns the sums of nodes without a second selection") {
  // Ranks 0 and 2 share a node, and so do 1 and 3: shards of ranks 0 and 1, 2 and 3.
  const DenseInputs<float> in{{{1, 0, 0, 0}, {5, 6, 0, 0}, {2, 0, 0, 7}, {0, 0, 1, 0}},
                              {4, Vector(4, 0)}};
  // acc_00 = {3, 0}, acc_10 = {5, 6}; acc_01 = {0, 7}, acc_11 = {1, 0}; k_s = 1.
  const auto out =
      ShardedOracle<float>::reduce_scatter(in, {2, Op::kSum, {0, 1, 0, 1}}, {0, 1, 2, 3, 4});
  CHECK(difference("part 0", out.result[0], oracle::Sparse<float>{{0, 3}}) == "");
  CHECK(difference("part 1", out.result[1], oracle::Sparse<float>{{1, 6}}) == "");
  CHECK(difference("part 2", out.result[2], oracle::Sparse<float>{{2, 1}}) == "");
  CHECK(difference("part 3", out.result[3], oracle::Sparse<float>{{3, 7}}) == "");
  CHECK(difference("residual 1", out.residuals[1], Vector{5, 0, 0, 0}) == "");
  CHECK(difference("residual 2", out.residuals[2], Vector{0, 0, 0, 0}) == "");
}

}  // namespace
}  // namespace sparsecoll
