// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/building_blocks/rounding.hpp"
#include "collectives/interface/env.hpp"
#include "collectives/interface/shape_cache.hpp"

namespace sparsecoll {

struct Outcome;
struct Problem;

/// The data that a selection keeps for put_back(), besides the entries in the Problem.
struct Selected {
  /// The values that rounding removed from each selected vector.
  std::span<const SparseSpan> lost = {};
  const void* acc = nullptr;  ///< acc, if it was selected as a whole
};

/// The arguments of Selection::put_back().
struct Delivery {
  const Gradient& gradient;
  const Problem& problem;
  const Selected& selected;
  const Outcome& outcome;
  ResidualRule rule;
};

/// How a verb in dense form selects entries of a dense vector, and keeps in the residual those that
/// were not delivered (error feedback). acc = gradient + residual.
struct Selection {
  /// Selects entries of acc, rounds them for the wire, and puts them into the Problem, whose count
  /// and k are set. Writes the other entries to the residual, if there is one.
  Selected (*select)(Env&, const Gradient&, Problem&, ShapeCache&);
  /// Adds the entries that were selected but not delivered to the residual, if there is one. It is
  /// called after all ranks have agreed on the call.
  void (*put_back)(Env&, const Delivery&);
};

/// Selects the k largest entries of acc.
Selected select_topk(Env& env, const Gradient& gradient, Problem& problem, ShapeCache& cache);
/// Adds to the residual the selected entries that the result lacks.
void put_back_entries(Env& env, const Delivery& delivery);

/// Rounds the selected entries for the wire and puts them into the Problem.
Selected contribute(Env& env, const SparseSpan& entries, Problem& problem);

/// Adds to a residual what rounding removed from values that were sent.
void add_lost(Kernels& kernels, const SparseSpan& lost, void* residual);

/// The selection of most algorithms: top-k of acc.
inline constexpr Selection kSelectTopk{select_topk, put_back_entries};

}  // namespace sparsecoll
