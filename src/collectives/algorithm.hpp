// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "calls/algorithm_info.hpp"
#include "collectives/env.hpp"
#include "collectives/selection.hpp"
#include "collectives/shape_cache.hpp"

namespace sparsecoll {

class Topology;
struct Network;
struct Shape;

/// The input of an algorithm.
struct Problem {
  uint64_t count = 0;  ///< n, the length of the vector
  size_t k = 0;        ///< kAll: nothing is selected, and zeros and cancellations are kept
  /// The entries that this rank contributes: L_r, or all of acc for Dense.
  SparseSpan local;
  uint64_t repartition_interval;    ///< calls between two computations of the regions
  uint64_t threshold_interval = 1;  ///< calls between two exact thresholds if they are reused
  /// Reduce-scatter: the region of the sum that each rank gets.
  std::span<const Region> regions = {};
  /// Hierarchical: which ranks share a node.
  const Topology* topology = nullptr;
  /// Dense as Auto takes it: number of this rank's values that are not 0, by which Auto chooses in
  /// the next call.
  std::optional<uint64_t> nonzeros = {};
  /// TopkA2A, instead of `local`: the selection in each shard, with indices from the shard's start.
  std::span<const SparseSpan> shards = {};
};

/// The output of an algorithm.
struct Outcome {
  SparseSpan result;  ///< with undivided sums
  /// What this rank removed from the result on the way, by dropping or by rounding; empty if each
  /// rank finds out itself which of its entries were not delivered.
  SparseSpan dropped;
};

/// Runs the exchange of an algorithm on all ranks. The cache may change its time, never its result.
using RunFunction = Outcome (*)(Env&, const Problem&, ShapeCache&);

/// An algorithm: how a rank selects what it contributes, what the ranks exchange, what stays for
/// the next call, and what the exchange costs. It stands at the end of the algorithm's own file.
struct Algorithm {
  AlgorithmId id;  ///< automatic for verbs that have one algorithm only
  RunFunction run;
  Selection selection;
  bool needs_topology = false;  ///< run() reads Problem::topology
  /// Returns the seconds that the model (cost_model.hpp) predicts for a call; null: it has no
  /// model.
  double (*seconds)(const Shape&, const Network&) = nullptr;
  /// Returns whether Auto may take the algorithm for this shape; null: never. It may only if the
  /// result is the definition's, or is added by node and the user allows that.
  bool (*suits)(const Shape&) = nullptr;
};

}  // namespace sparsecoll
