// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "collectives/algorithm.hpp"

namespace sparsecoll {

/// The numbers of the C API's sparsecollAlgo_t.
enum class AlgorithmId : int { automatic = 0, allgather = 1, oktopk = 2, dense = 5 };

/// What there is to choose from for sparse allreduce.
struct AlgorithmEntry {
  AlgorithmId id;
  const char* name;      ///< of SPARSECOLL_ALGO
  Algorithm run;         ///< null: Auto, which chooses
  bool coordinate_form;  ///< works in the `v` form
};

std::span<const AlgorithmEntry> algorithms();
/// Null for an unknown number.
const AlgorithmEntry* find_algorithm(int id);

/// What Auto decides by; the same on all ranks.
struct Shape {
  int ranks;
  uint64_t count;
  size_t k;
  size_t value_size;
  uint64_t entries;  ///< of all ranks in the last call; 0 = unknown
};

/// The alpha-beta model in seconds.
double predicted_seconds(AlgorithmId id, const Shape& shape);

/// The cheapest by the model of those that give the definition bit for bit.
const AlgorithmEntry& choose_algorithm(const Shape& shape);

}  // namespace sparsecoll
