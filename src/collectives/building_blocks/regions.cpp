// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/building_blocks/regions.hpp"

#include <algorithm>

#include "collectives/building_blocks/allreduce_counts.hpp"

namespace sparsecoll {

std::span<const Region> uniform_regions(Env& env, uint64_t count) {
  const auto ranks = static_cast<uint64_t>(env.call.size());
  const auto regions = env.arena.take_span<Region>(ranks);
  for (uint64_t r = 0; r < ranks; ++r)
    regions[r] = {even_boundary(count, ranks, r), even_boundary(count, ranks, r + 1)};
  return regions;
}

std::span<const Region> regions_between(Env& env, std::span<const uint64_t> boundaries) {
  const auto regions = env.arena.take_span<Region>(boundaries.size() - 1);
  for (size_t r = 0; r < regions.size(); ++r) regions[r] = {boundaries[r], boundaries[r + 1]};
  return regions;
}

namespace {

constexpr size_t kIndexBins = 4096;
constexpr uint64_t kSmallLoad = 64;  // up to this load no owner is overloaded

bool needs_boundaries(const Env& env, const Problem& problem, const ShapeCache& cache) {
  if (cache.boundaries.size() != static_cast<size_t>(env.call.size()) + 1) return true;
  // New boundaries do not help if the owner was overloaded already in their first call.
  return cache.calls_since_repartition >= problem.repartition_interval ||
         (cache.overloaded && cache.calls_since_repartition > 1);
}

/// Computes P + 1 boundaries between which there are about equally many entries. The entries of a
/// bin are assumed to be spread evenly.
void split_evenly(std::span<const uint64_t> bins, uint64_t width, uint64_t count,
                  std::span<uint64_t> boundaries) {
  const size_t regions = boundaries.size() - 1;
  uint64_t total = 0;
  for (const uint64_t n : bins) total += n;
  boundaries[0] = 0;
  boundaries[regions] = count;
  size_t b = 0;
  uint64_t before = 0;
  for (size_t r = 1; r < regions; ++r) {
    const double target = static_cast<double>(total) * static_cast<double>(r) / regions;
    while (b + 1 < bins.size() && static_cast<double>(before + bins[b]) < target)
      before += bins[b++];
    const double share = bins[b] == 0 ? 0.0 : (target - before) / static_cast<double>(bins[b]);
    const uint64_t inside = static_cast<uint64_t>(std::min(share, 1.0) * width);
    boundaries[r] = std::clamp(b * width + inside, boundaries[r - 1], count);
  }
}

void compute_boundaries(Env& env, const Problem& problem, ShapeCache& cache) {
  const uint64_t width =
      std::max<uint64_t>(problem.count / kIndexBins + (problem.count % kIndexBins != 0), 1);
  uint64_t* counted = env.kernels.counts(kIndexBins);
  env.kernels.index_histogram(problem.local, width, counted);
  const auto bins = env.arena.take_span<uint64_t>(kIndexBins);
  env.kernels.read(counted, kIndexBins, bins.data());
  allreduce_counts(env, bins);
  cache.boundaries.resize(static_cast<size_t>(env.call.size()) + 1);
  split_evenly(bins, width, problem.count, cache.boundaries);
  cache.calls_since_repartition = 0;
}

}  // namespace

std::span<const Region> balanced_regions(Env& env, const Problem& problem, ShapeCache& cache) {
  if (needs_boundaries(env, problem, cache)) compute_boundaries(env, problem, cache);
  ++cache.calls_since_repartition;
  return regions_between(env, cache.boundaries);
}

void remember_loads(std::span<const uint64_t> loads, ShapeCache& cache) {
  uint64_t all = 0, largest = 0;
  for (const uint64_t load : loads) {
    all += load;
    largest = std::max(largest, load);
  }
  cache.entries = all;
  cache.overloaded = largest > kSmallLoad && largest / 2 > all / loads.size();
}

}  // namespace sparsecoll
