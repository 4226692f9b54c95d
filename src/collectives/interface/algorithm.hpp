// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "calls/algorithm_info.hpp"
#include "collectives/building_blocks/selection.hpp"
#include "collectives/interface/env.hpp"
#include "collectives/interface/shape_cache.hpp"

namespace sparsecoll {

class Topology;
struct Network;
struct ProblemSize;

/// The input of an algorithm.
struct Problem {
  uint64_t count = 0;  ///< n, the length of the vector
  size_t k = 0;        ///< kAll: no selection; the result keeps zeros, also sums that cancel
  /// The entries that this rank contributes: L_r, or all of acc for Dense.
  SparseSpan local;
  uint64_t repartition_interval;    ///< number of calls that use the same regions
  uint64_t threshold_interval = 1;  ///< number of calls that reuse a threshold
  /// Reduce-scatter: the region of the sum that each rank receives.
  std::span<const Region> regions = {};
  /// Hierarchical: which ranks share a node.
  const Topology* topology = nullptr;
  /// Dense, if Auto chose it: the number of this rank's values that are not 0. Auto uses it for the
  /// choice in the next call.
  std::optional<uint64_t> nonzeros = {};
  /// TopkA2A, instead of `local`: the selection in each shard. Indices count from the start of the
  /// shard.
  std::span<const SparseSpan> shards = {};
};

/// The output of an algorithm.
struct Outcome {
  SparseSpan result;  ///< sums, not yet divided for the average
  /// The values that this rank removed from the sums during the exchange, by dropping or by
  /// rounding. Empty if each rank can see from the result which of its entries were not delivered.
  SparseSpan dropped;
};

/// Runs the exchange of an algorithm on all ranks. The cache may change its time, never its result.
using RunFunction = Outcome (*)(Env&, const Problem&, ShapeCache&);

/// An algorithm: the functions that select entries, run the exchange, put back what was not
/// delivered, and predict the time. The constant is at the end of the algorithm's own file.
struct Algorithm {
  AlgorithmId id;  ///< automatic for verbs with only one algorithm
  RunFunction run;
  Selection selection;
  bool needs_topology = false;  ///< run() reads Problem::topology
  /// Returns the predicted seconds of a call (cost_model.hpp). Null only if neither users nor Auto
  /// choose among several: Ok-Topk with reused thresholds, and verbs with one algorithm.
  double (*seconds)(const ProblemSize&, const Network&) = nullptr;
  /// Returns whether Auto may choose the algorithm for a problem of this size. Null: never. It may
  /// do so only if the result is the one of the definition, or if sums are added by node and the
  /// user allows this.
  bool (*suits)(const ProblemSize&) = nullptr;
};

}  // namespace sparsecoll
