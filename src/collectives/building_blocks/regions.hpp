// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Partitions of a vector into P regions: of equal length, between given boundaries, or of about
// equal load.
#pragma once

#include "collectives/interface/algorithm.hpp"

namespace sparsecoll {

/// Returns floor(r * count / ranks): the start of part r if `count` is divided evenly.
constexpr uint64_t even_boundary(uint64_t count, uint64_t ranks, uint64_t r) {
  return count / ranks * r + count % ranks * r / ranks;
}

/// Returns P regions of equal length, apart from rounding.
std::span<const Region> uniform_regions(Env& env, uint64_t count);

/// Returns the P regions between P + 1 boundaries.
std::span<const Region> regions_between(Env& env, std::span<const uint64_t> boundaries);

/// Returns P regions that have about equally many entries of all ranks' `local` vectors. Computes
/// them anew every `repartition_interval` calls of a shape, and in the next call if an owner was
/// overloaded.
std::span<const Region> balanced_regions(Env& env, const Problem& problem, ShapeCache& cache);

/// Stores for the next call how many entries the owners received.
void remember_loads(std::span<const uint64_t> loads, ShapeCache& cache);

}  // namespace sparsecoll
