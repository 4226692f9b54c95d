// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/env.hpp"
#include "collectives/rounding.hpp"
#include "collectives/shape_cache.hpp"

namespace sparsecoll {

struct Outcome;
struct Problem;

/// What a rank selected from its dense vector, besides the entries in the Problem.
struct Selected {
  /// What rounding removed from each selected vector.
  std::span<const SparseSpan> lost = {};
  const void* acc = nullptr;  ///< all of acc, if all was selected
};

/// A call after its exchange, for Selection::put_back().
struct Delivery {
  const Gradient& gradient;
  const Problem& problem;
  const Selected& selected;
  const Outcome& outcome;
  ResidualRule rule;
};

/// How a verb in dense form turns a dense vector into a Problem, and keeps the entries that were
/// not delivered (error feedback). acc = gradient + residual.
struct Selection {
  /// Selects from acc, rounds for the wire, and puts the entries into the Problem, of which count
  /// and k are set. Writes to the residual, if there is one, what was not selected.
  Selected (*select)(Env&, const Gradient&, Problem&, ShapeCache&);
  /// Adds to the residual, if there is one, what was selected and not delivered. Called after all
  /// ranks have agreed on the call.
  void (*put_back)(Env&, const Delivery&);
};

/// Selects the k largest entries of acc.
Selected select_topk(Env& env, const Gradient& gradient, Problem& problem, ShapeCache& cache);
/// Adds to the residual the selected entries that the result lacks.
void put_back_entries(Env& env, const Delivery& delivery);

/// Rounds the selected entries for the wire and puts them into the Problem.
Selected contribute(Env& env, const SparseSpan& entries, Problem& problem);

/// Adds to a residual what rounding removed from values, all of which were sent or delivered.
void add_lost(Kernels& kernels, const SparseSpan& lost, void* residual);

/// Selects top-k of acc.
inline constexpr Selection kSelectTopk{select_topk, put_back_entries};

}  // namespace sparsecoll
