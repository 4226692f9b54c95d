// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

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

struct AlgorithmName {
  AlgorithmId id;
  const char* name;
};

/// The names that SPARSECOLL_ALGO takes and that messages use.
inline constexpr AlgorithmName kAlgorithmNames[] = {
    {AlgorithmId::automatic, "auto"},
    {AlgorithmId::allgather, "allgather"},
    {AlgorithmId::oktopk, "oktopk"},
    {AlgorithmId::topka2a, "topka2a"},
    {AlgorithmId::hierarchical, "hierarchical"},
    {AlgorithmId::dense, "dense"},
};

/// Returns the name of the algorithm with this number, or null for an unknown number.
constexpr const char* algorithm_name(int number) {
  for (const AlgorithmName& each : kAlgorithmNames)
    if (static_cast<int>(each.id) == number) return each.name;
  return nullptr;
}

}  // namespace sparsecoll
