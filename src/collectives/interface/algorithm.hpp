// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <optional>

#include "calls/algorithm_info.hpp"
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
  /// Hierarchical and Sharded: which ranks share a node.
  const Topology* topology = nullptr;
  /// Oktopk between leaders: the groups of the leaders, each of which sends its sum. Null: none.
  const Topology* groups = nullptr;
  /// Dense, if Auto chose it: the number of this rank's values that are not 0. Auto uses it for the
  /// choice in the next call.
  std::optional<uint64_t> nonzeros = {};
  /// TopkA2A, instead of `local`: the selection in each shard. Indices count from the start of the
  /// shard.
  std::span<const SparseSpan> shards = {};
  /// The call may be marked (AgreedCall::mark) after the selection. Then run() must move something
  /// from each rank to each rank.
  bool passes_marks = false;
};

/// The output of an algorithm.
struct Outcome {
  SparseSpan result;  ///< sums, not yet divided for the average
  /// The values that this rank removed from the sums during the exchange, by dropping or by
  /// rounding. Empty if each rank can see from the result which of its entries were not delivered.
  SparseSpan dropped;
  /// Sharded: the part of the result in this rank's shard. Indices count from the start of the
  /// shard.
  SparseSpan in_shard = {};
};

/// Runs the exchange of an algorithm on all ranks. The cache may change its time, never its result.
using RunFunction = Outcome (*)(Env&, const Problem&, ShapeCache&);

/// The data that a selection keeps for put_back(), besides the entries in the Problem.
struct Selected {
  /// The rounding errors of each selected vector.
  std::span<const SparseSpan> lost = {};
  const void* acc = nullptr;  ///< acc, if all of it was selected
};

/// The arguments of Selection::put_back().
struct Delivery {
  const Gradient& gradient;
  const Problem& problem;
  const Selected& selected;
  const Outcome& outcome;
  ResidualRule rule;
};

/// The functions by which a verb in dense form selects entries of a dense vector, and keeps in the
/// residual those that were not delivered (error feedback). acc = gradient + residual.
struct Selection {
  /// Selects entries of acc, rounds them for the wire, and puts them into the Problem, whose count
  /// and k are set. Writes the other entries to the residual, if there is one.
  Selected (*select)(Env&, const Gradient&, Problem&, ShapeCache&);
  /// Adds the entries that were selected but not delivered to the residual, if there is one. It is
  /// called after all ranks have agreed on the call.
  void (*put_back)(Env&, const Delivery&);
};

/// Predicts no time: Auto never takes the algorithm.
inline double not_predicted(const ProblemSize&, const Network&) {
  return std::numeric_limits<double>::infinity();
}
/// Suits no problem: Auto never takes the algorithm.
inline bool never_suits(const ProblemSize&) { return false; }

/// An algorithm: the functions that select entries, run the exchange, put back what was not
/// delivered, and predict the time. The constant is at the end of the algorithm's own file.
struct Algorithm {
  AlgorithmId id;  ///< automatic for verbs with only one algorithm
  RunFunction run;
  Selection selection;
  bool needs_topology = false;  ///< the functions read Problem::topology
  /// run() knows a bound of every size if k is not kAll. In dense form the host then reads no
  /// number, no cache is kept, and a CUDA graph can capture the call.
  bool knows_bounds = false;
  /// run() drops entries of the sums on the way. The configured residual rule says which of them
  /// return to the residual.
  bool drops_entries = false;
  /// In coordinate form L_r is the top-k of the caller's entries instead of all of them.
  bool selects_input = false;
  /// Returns the predicted seconds of a call (cost_model.hpp).
  double (*seconds)(const ProblemSize&, const Network&) = not_predicted;
  /// Returns whether Auto may choose the algorithm for a problem of this size. It may do so only if
  /// the result is the one of the definition, or if sums are added by node and the user allows
  /// this. An algorithm that suits a problem predicts its time.
  bool (*suits)(const ProblemSize&) = never_suits;
};

}  // namespace sparsecoll
