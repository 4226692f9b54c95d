// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "sparsecoll/sparsecoll.h"

namespace sparsecoll {

/// An algorithm of sparseAllreduce. The numbers are those of the C API.
enum class AlgorithmId : int {
  automatic = sparsecollAlgoAuto,
  allgather = sparsecollAlgoAllgather,
  oktopk = sparsecollAlgoOktopk,
  topka2a = sparsecollAlgoTopkA2A,
  hierarchical = sparsecollAlgoHierarchical,
  dense = sparsecollAlgoDense,
  sharded = sparsecollAlgoSharded,
};

/// The result of an algorithm of sparseAllreduce (docs/semantics.md).
enum class ResultKind {
  definition,    ///< the top-k of the sum in rank order, bit for bit
  sums_by_node,  ///< the definition, but sums are added by node first
  shard_sums,    ///< the sum of the ranks' selections by shard, without a second selection
  whole_sum,     ///< the sum of all values in rank order, without a selection
  sharded,       ///< for each shard: each node selects from its own sum, and the result is the
                 ///< top-k of the sum of these selections
};

/// The properties of an algorithm that users, programs and tests need to know.
struct AlgorithmInfo {
  AlgorithmId id;
  const char* name;  ///< for SPARSECOLL_ALGO, messages and its page docs/algorithms/<name>.md
  ResultKind result = ResultKind::definition;
  bool coordinate_form = true;  ///< sparseAllreducev has the algorithm, too
  /// Over a wire that rounds values, sums are sent, and are rounded before the selection.
  bool rounds_sums = false;
  /// Ranks make different numbers of exchanges (Call::allow_uneven_exchanges).
  bool uneven = false;
};

/// All algorithms of sparseAllreduce, by number. Each but Auto has its functions in
/// collectives/registry.cpp, which follows this table, and a page in docs/algorithms.
inline constexpr AlgorithmInfo kAlgorithms[] = {
    {.id = AlgorithmId::automatic, .name = "auto"},
    {.id = AlgorithmId::allgather, .name = "allgather"},
    {.id = AlgorithmId::oktopk, .name = "oktopk", .rounds_sums = true},
    {.id = AlgorithmId::topka2a,
     .name = "topka2a",
     .result = ResultKind::shard_sums,
     .coordinate_form = false},
    {.id = AlgorithmId::hierarchical,
     .name = "hierarchical",
     .result = ResultKind::sums_by_node,
     .rounds_sums = true,
     .uneven = true},
    {.id = AlgorithmId::dense,
     .name = "dense",
     .result = ResultKind::whole_sum,
     .coordinate_form = false},
    {.id = AlgorithmId::sharded,
     .name = "sharded",
     .result = ResultKind::sharded,
     .coordinate_form = false,
     .rounds_sums = true,
     .uneven = true},
};

/// Returns the algorithm with this number, or null for an unknown number.
constexpr const AlgorithmInfo* algorithm_info(int number) {
  for (const AlgorithmInfo& each : kAlgorithms)
    if (static_cast<int>(each.id) == number) return &each;
  return nullptr;
}

/// Returns the algorithm with this name, or null for an unknown name.
constexpr const AlgorithmInfo* algorithm_named(std::string_view name) {
  for (const AlgorithmInfo& each : kAlgorithms)
    if (name == each.name) return &each;
  return nullptr;
}

}  // namespace sparsecoll
