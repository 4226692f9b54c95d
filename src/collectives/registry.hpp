// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "calls/algorithm_id.hpp"
#include "collectives/algorithm.hpp"
#include "collectives/network.hpp"

namespace sparsecoll {

/// What a rank puts into an algorithm.
enum class LocalPart {
  topk,        ///< Problem::local = top-k of acc; any vector in the `v` form
  above,       ///< as topk, but what select_above() gives
  shards,      ///< Problem::shards = top-k of every shard of acc; no `v` form
  everything,  ///< Problem::local = acc; no `v` form
  whole,       ///< the same, and Problem::entries; what adds up to zero is not delivered
};

/// What there is to choose from for sparse allreduce.
struct AlgorithmEntry {
  AlgorithmId id;
  const char* name;  ///< of SPARSECOLL_ALGO
  Algorithm run;     ///< null: Auto, which chooses
  LocalPart local;
};

std::span<const AlgorithmEntry> algorithms();
/// Oktopk with reused thresholds.
const AlgorithmEntry& reusing_oktopk();
/// Dense as Auto takes it: the definition where all of a dense vector is selected.
const AlgorithmEntry& dense_of_whole();
/// Null for an unknown number.
const AlgorithmEntry* find_algorithm(int id);

/// What Auto decides by; the same on all ranks.
struct Shape {
  int ranks;
  uint64_t count;
  size_t k;
  size_t value_size;
  uint64_t entries;              ///< of all ranks in the last call; 0 = unknown
  uint64_t result = 0;           ///< of an exact sum: entries in the last one; 0 = unknown
  const Nodes* nodes = nullptr;  ///< where Hierarchical may be taken
  /// k is not less than the count of a vector in dense form whose values travel as they are.
  bool whole = false;
};

/// The alpha-beta-gamma model in seconds; infinite for Hierarchical where nothing is known of
/// nodes.
double predicted_seconds(AlgorithmId id, const Shape& shape, const Network& network);

/// The cheapest by the model of those that give the definition bit for bit, and of Hierarchical
/// where it may be taken. For exact sums it is not: a call that adds by node first does not tell
/// how many entries the ranks had. Of a whole vector Dense gives the definition, too; it is taken
/// when it is known how many of its values are not zero.
const AlgorithmEntry& choose_algorithm(const Shape& shape, const Network& network);

}  // namespace sparsecoll
