// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Selections of blocks, and their exchange by region.

#include <cmath>
#include <limits>

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/data.hpp"
#include "support/exchange_sweep.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

TEST_CASE("blocks are sent to the owners of their indices") {
  for (const int P : rank_counts()) {
    const Ranks ranks(P, default_config());
    for (AlltoallCase c : alltoall_cases_of(P, small_run() ? 15 : 5)) {
      if (c.count > 5000) c.count = std::uint64_t{1} << 33;
      c.block = 2 + c.seed % 6;
      CHECK(ranks.run("all-to-all", [&](int rank) { return join_case(ranks.comm(rank), c); }) ==
            "");
    }
  }
}

TEST_CASE("sparseReduceScatter of blocks is its definition") {
  for (const int wire : {sparsecollWireNative, sparsecollWireBf16, sparsecollWireInt8}) {
    sparsecollConfig_t config = default_config();
    config.wire = wire;
    for (const int P : rank_counts()) {
      const Ranks ranks(P, config);
      for (ReduceScatterCase c : reduce_scatter_cases_of(P, small_run() ? 40 : 12)) {
        c.block = 2 + c.seed % 6;
        c.n = std::min<std::size_t>(c.n, 300);
        c.wire = wire;
        CHECK(ranks.run("reduce-scatter",
                        [&](int rank) { return join_case(ranks.comm(rank), c); }) == "");
      }
    }
  }
}

template <class T>
std::string check_topk(sparsecollComm_t comm, Kind kind, std::size_t n, std::size_t k,
                       std::size_t block) {
  const std::vector<T> dense = make_data<T>(kind, n * block, 0, 1, base_seed());
  const auto old = make_data<oracle::Wide<T>>(Kind::kHeavyTail, n * block, 0, 1, base_seed() + 1);
  std::string verdict;
  for (const bool feedback : {false, true}) {
    Residual<T> residual(comm, n * block, feedback);
    if (feedback) residual.write(old);
    const auto want = oracle::Oracle<T>::topk(
        dense, feedback ? old : std::vector<oracle::Wide<T>>{}, std::min(k, n), block);
    SparseBuffer<T> out(n + 3, sparsecollIndex32, std::min(k, n) + 2, block);
    const sparsecollResult_t result = sparsecollTopk(dense.data(), n, k, kDatatype<T>,
                                                     residual.handle(), out.get(), comm, nullptr);
    verdict += expect("sparsecollTopk", settle(result, comm), sparsecollSuccess, comm) +
               difference("selection", out.entries(), want.result);
    if (feedback) verdict += difference("residual", residual.read(), want.residuals[0]);
  }
  return verdict;
}

TEST_CASE("sparsecollTopk selects blocks as defined and leaves the rest in the residual") {
  const Ranks ranks(1, default_config());
  for (const Kind kind : kAllKinds) {
    for (const std::size_t n : {1, 2, 65, 600}) {
      for (const std::size_t k : {std::size_t{0}, std::size_t{1}, n / 7 + 1, n, n + 5}) {
        for (const std::size_t block : {2, 5}) {
          INFO(name_of(kind) << " n=" << n << " k=" << k << " blocks of " << block);
          CHECK(check_topk<float>(ranks.comm(0), kind, n, k, block) == "");
          CHECK(check_topk<double>(ranks.comm(0), kind, n, k, block) == "");
          CHECK(check_topk<oracle::Float16>(ranks.comm(0), kind, n, k, block) == "");
          CHECK(check_topk<oracle::Bfloat16>(ranks.comm(0), kind, n, k, block) == "");
        }
      }
    }
  }
}

/// Returns the top-k of one rank's blocks of double, as indices of blocks.
std::vector<std::uint64_t> top_blocks(const std::vector<std::vector<double>>& blocks,
                                      std::size_t k) {
  const std::size_t block = blocks[0].size();
  oracle::Sparse<double> entries;
  for (std::size_t j = 0; j < blocks.size(); ++j)
    for (std::size_t i = 0; i < block; ++i) entries.push_back({j * block + i, blocks[j][i]});
  std::vector<std::uint64_t> found;
  for (const Mode& mode : {kAuto, kGtopk}) {
    const Ranks ranks(1, config_of(mode));
    const SparseBuffer<double> send(blocks.size(), sparsecollIndex32, entries, block);
    SparseBuffer<double> recv(0, sparsecollIndex32, blocks.size(), block);
    if (call_sparse_verb(mode.verb, {send.get(), recv.get(), k}, ranks.comm(0)) !=
        sparsecollSuccess)
      return {99};
    std::vector<std::uint64_t> indices;
    for (const auto& entry : recv.entries())
      if (entry.index % block == 0) indices.push_back(entry.index / block);
    if (mode.verb == Verb::kGtopk && indices != found) return {98};
    found = indices;
  }
  return found;
}

TEST_CASE("blocks rank by their squares: NaN first, ties by index, underflow last, zeros never") {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = HUGE_VAL, kTiny = 1e-170;
  using Found = std::vector<std::uint64_t>;
  const std::vector<std::vector<double>> blocks{{0, 0},      {kTiny, 0}, {3, 4},    {-5, 0},
                                                {0, -0.0},   {0, kTiny}, {kInf, 1}, {1e200, 0},
                                                {0, 1e-160}, {kNan, 0},  {4.9, 0}};
  CHECK(top_blocks(blocks, 1) == Found{9});
  CHECK(top_blocks(blocks, 2) == Found{6, 9});
  CHECK(top_blocks(blocks, 3) == Found{6, 7, 9});     // the square of 7 overflows
  CHECK(top_blocks(blocks, 4) == Found{2, 6, 7, 9});  // 2 and 3 tie
  CHECK(top_blocks(blocks, 5) == Found{2, 3, 6, 7, 9});
  CHECK(top_blocks(blocks, 7) == Found{2, 3, 6, 7, 8, 9, 10});
  CHECK(top_blocks(blocks, 8) == Found{1, 2, 3, 6, 7, 8, 9, 10});
  CHECK(top_blocks(blocks, 11) == Found{1, 2, 3, 5, 6, 7, 8, 9, 10});
}

TEST_CASE("thresholds of blocks are predicted as those of values are") {
  for (const int P : {2, 3, 5}) {
    const Ranks ranks(P, config_of(kOktopk));
    for (const SparseKind kind : {SparseKind::kHeavyTail, SparseKind::kRandom}) {
      SparseCase c{base_seed(), kOktopk, 1000, 30, kind};
      c.block = 3;
      c.feedback = true;
      c.calls = small_run() ? 8 : 40;
      CHECK(run_case(ranks, c) == "");
    }
  }
}

}  // namespace
}  // namespace sparsecoll::test
