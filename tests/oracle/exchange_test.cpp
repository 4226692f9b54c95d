// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests the oracles of the exchanges, of TopkA2A and of reused thresholds with the examples of the
// documentation.

#include "oracle/exchange.hpp"

#include "oracle/reuse.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"

namespace sparsecoll::test {
namespace {

using Entries = oracle::Sparse<float>;
using Exchange = oracle::ExchangeOracle<float>;

const oracle::DenseInputs<float> kTwo{{{5, 0, 1, -3, 0, 0, 2, 0}, {0, 4, 1, 2, 0, -6, 0, 0}},
                                      {{0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0}}};

TEST_CASE("NULL means even borders") {
  CHECK(oracle::even_bounds(8, 3) == std::vector<std::size_t>{0, 2, 5, 8});
  CHECK(oracle::even_bounds(1, 2) == std::vector<std::size_t>{0, 0, 1});
  CHECK(oracle::even_bounds(UINT64_MAX, 2) ==
        std::vector<std::size_t>{0, UINT64_MAX / 2, UINT64_MAX});
}

TEST_CASE("entries arrive by source and index") {
  const auto all =
      oracle::alltoall<float>({{{1, 2}, {4, -1}}, {{1, -2}, {5, 3}, {6, 0}}}, {0, 3, 8});
  CHECK(difference("rank 0", all[0].entries, Entries{{1, 2}, {1, -2}}) == "");
  CHECK(difference("rank 1", all[1].entries, Entries{{4, -1}, {5, 3}, {6, 0}}) == "");
  CHECK(all[0].counts == std::vector<std::size_t>{1, 1});
  CHECK(all[1].counts == std::vector<std::size_t>{1, 2});
}

TEST_CASE("every rank gets its region of the sum") {
  const auto all = Exchange::reduce_scatter(kTwo, 2, oracle::Op::kSum, {0, 4, 8});
  CHECK(difference("rank 0", all.result[0], Entries{{0, 5}, {1, 4}, {3, -3}}) == "");
  CHECK(difference("rank 1", all.result[1], Entries{{5, -6}}) == "");
  CHECK(difference("residual 0", all.residuals[0], {0, 0, 1, 0, 0, 0, 2, 0}) == "");
  CHECK(difference("residual 1", all.residuals[1], {0, 0, 1, 2, 0, 0, 0, 0}) == "");
}

TEST_CASE("shards have quotas of their own") {
  const auto all = Exchange::topka2a(kTwo, 2, oracle::Op::kSum);
  CHECK(difference("result", all.result, {5, 4, 0, 0, 0, -6, 2, 0}) == "");
  CHECK(difference("residual 0", all.residuals[0], {0, 0, 1, -3, 0, 0, 0, 0}) == "");
  CHECK(difference("residual 1", all.residuals[1], {0, 0, 1, 2, 0, 0, 0, 0}) == "");
}

TEST_CASE("thresholds are found, reused and moved") {
  oracle::ReuseReplay<float> replay(2, 2, 3);
  const auto result = [&](std::vector<float> first, std::vector<float> second) {
    const auto all = replay.sparse_allreduce({{first, second}, {}}, oracle::Op::kSum);
    return std::pair(all.result, all.selected);
  };
  using Numbers = std::vector<float>;
  using Selected = oracle::PerRank<std::size_t>;
  CHECK(result({5, 0, -3, 0, 1}, {0, 4, 0, 2, 0}) ==
        std::pair(Numbers{5, 4, 0, 0, 0}, Selected{2, 2}));
  CHECK(result({6, 3, -3, 2, 0}, {0, 2, 1, -1, 0}) ==
        std::pair(Numbers{6, 5, 0, 0, 0}, Selected{3, 1}));
  CHECK(result({2, 0, -9, 1, 0}, {0, 0, -2, 0, 2}) ==
        std::pair(Numbers{0, 0, -11, 0, 0}, Selected{1, 2}));
  CHECK(replay.reused() == 6);
  // An exact threshold is due again: exactly two entries, one of which is smaller than all
  // thresholds so far.
  CHECK(result({1, 0, 0, 0, 0}, {0, 0, 0, 0.5f, 0.25f}) ==
        std::pair(Numbers{1, 0, 0, 0.5f, 0}, Selected{1, 2}));
  CHECK(replay.fell_back() == 0);
}

}  // namespace
}  // namespace sparsecoll::test
