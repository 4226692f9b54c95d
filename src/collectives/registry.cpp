// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/registry.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "collectives/network/shards.hpp"

namespace sparsecoll {

// Each of these constants is defined at the end of its algorithm's file.
extern const Algorithm kAllgatherTopk, kOktopk, kTopkA2A, kHierarchical, kDense, kSharded;
extern const Algorithm kOktopkReuse, kDenseByAuto;
extern const Algorithm kGtopk, kReduceScatter, kShardedReduceScatter;

namespace {

/// The algorithms of sparseAllreduce in the order of kAlgorithms, without Auto, then variants.
const Algorithm* const kTable[] = {
    &kAllgatherTopk,
    &kOktopk,
    &kTopkA2A,
    &kHierarchical,
    &kDense,
    &kSharded,
    // variants
    &kOktopkReuse,
    &kDenseByAuto,
};
constexpr size_t kVariants = 2;
static_assert(std::size(kTable) <= Trials::kMost);
static_assert(std::size(kTable) == std::size(kAlgorithms) - 1 + kVariants,
              "each row of kAlgorithms, except Auto's, needs its functions in kTable");

}  // namespace

std::span<const Algorithm* const> algorithms() { return kTable; }

const Algorithm* find_algorithm(int id) {
  for (const Algorithm* const each : kTable)
    if (static_cast<int>(each->id) == id) return each;
  return nullptr;
}

const Algorithm& oktopk_with_reused_thresholds() { return kOktopkReuse; }

const Algorithm& gtopk() { return kGtopk; }

const Algorithm& reduce_scatter() { return kReduceScatter; }

const Algorithm& sharded_reduce_scatter() { return kShardedReduceScatter; }

bool pays_to_shard(const Topology& topology, uint64_t count, size_t value_size) {
  const int shards = Shards(topology, count).number();
  if (shards == 1 || topology.nodes() == 1) return false;
  constexpr uint64_t kUsualShare = 100;
  const Network in_node{kSameMachine.alpha, kSameMachine.beta, kGammaOnHost};
  const NodeNetwork nodes{topology.nodes(), topology.largest_node_size(), in_node, kCommodity};
  ProblemSize size{static_cast<int>(topology.ranks()), count, count / kUsualShare, value_size, 0};
  const double others = choose_algorithm(size, kCommodity).seconds(size, kCommodity);
  size.nodes = &nodes;
  return kSharded.seconds(size, kCommodity) < others;
}

double predicted_seconds(AlgorithmId id, const ProblemSize& size, const Network& network) {
  const Algorithm* const algorithm = find_algorithm(static_cast<int>(id));
  return algorithm ? algorithm->seconds(size, network) : 0;
}

const Algorithm& choose_algorithm(const ProblemSize& size, const Network& network) {
  const Algorithm* best = nullptr;
  double least = 0;
  for (const Algorithm* const each : kTable) {
    if (!each->suits(size)) continue;
    const double seconds = each->seconds(size, network);
    if (best && seconds >= least) continue;
    best = each;
    least = seconds;
  }
  return *best;  // Ok-Topk suits every size
}

const Algorithm& try_algorithms(const ProblemSize& size, const Network& network, Trials& trials) {
  constexpr double kFar = 4;
  struct Candidate {
    double seconds;
    size_t position;  ///< in kTable
  };
  std::array<Candidate, std::size(kTable)> candidates;
  size_t found = 0;
  for (size_t each = 0; each < std::size(kTable); ++each)
    if (kTable[each]->suits(size))
      candidates[found++] = {kTable[each]->seconds(size, network), each};
  const std::span<Candidate> suitable(candidates.data(), found);
  // Not sort(): with -O3 g++ 12 warns of a part of it that is for more than 16 elements.
  std::ranges::partial_sort(suitable, suitable.end(), {}, [](const Candidate& each) {
    return std::pair(each.seconds, each.position);
  });
  std::array<size_t, std::size(kTable)> near;
  size_t count = 0;
  for (const Candidate& each : suitable)
    if (each.seconds <= kFar * suitable.front().seconds) near[count++] = each.position;
  // In a top-k the number of entries depends on the algorithm: Hierarchical counts the leaders'.
  const uint64_t entries = size.k == kAll || size.selects_all ? size.entries : 0;
  return *kTable[trials.next({near.data(), count}, entries)];
}

}  // namespace sparsecoll
