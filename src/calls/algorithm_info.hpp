// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace sparsecoll {

/// An algorithm of sparseAllreduce, by its number in the C API's sparsecollAlgo_t.
enum class AlgorithmId : int {
  automatic = 0,
  allgather = 1,
  oktopk = 2,
  topka2a = 3,
  hierarchical = 4,
  dense = 5,
};

/// The result of an algorithm of sparseAllreduce (docs/semantics.md).
enum class ResultKind {
  definition,    ///< the top-k of the sum in rank order, bit for bit
  sums_by_node,  ///< the same, but sums are added by node first
  shard_sums,    ///< the sum of the ranks' selections by shard, without a second selection
  whole_sum,     ///< the sum of all values in rank order, without a selection
};

/// The properties of an algorithm that users, programs and tests need without running it.
struct AlgorithmInfo {
  AlgorithmId id;
  const char* name;  ///< for SPARSECOLL_ALGO, messages and its page docs/algorithms/<name>.md
  ResultKind result;
  bool coordinate_form;  ///< sparseAllreducev has the algorithm, too
  bool rounds_sums;      ///< over a bfloat16 wire, sums travel and are rounded before the selection
  bool uneven;           ///< ranks make different numbers of exchanges (Call)
};

/// All algorithms of sparseAllreduce, by number. Each but Auto has its functions in
/// collectives/registry.cpp and a page in docs/algorithms.
inline constexpr AlgorithmInfo kAlgorithms[] = {
    {AlgorithmId::automatic, "auto", ResultKind::definition, true, false, false},
    {AlgorithmId::allgather, "allgather", ResultKind::definition, true, false, false},
    {AlgorithmId::oktopk, "oktopk", ResultKind::definition, true, true, false},
    {AlgorithmId::topka2a, "topka2a", ResultKind::shard_sums, false, false, false},
    {AlgorithmId::hierarchical, "hierarchical", ResultKind::sums_by_node, true, true, true},
    {AlgorithmId::dense, "dense", ResultKind::whole_sum, false, false, false},
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
