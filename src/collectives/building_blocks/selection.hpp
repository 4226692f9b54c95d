// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/interface/algorithm.hpp"

namespace sparsecoll {

/// Selects the k largest entries of acc.
Selected select_topk(Env& env, const Gradient& gradient, Problem& problem, ShapeCache& cache);
/// Adds to the residual the selected entries that the result lacks.
void put_back_entries(Env& env, const Delivery& delivery);

/// Rounds the selected entries for the wire and puts them into the Problem.
Selected contribute(Env& env, const SparseSpan& entries, Problem& problem);

/// Adds to a residual the rounding errors of values that were sent.
void add_lost(Kernels& kernels, const SparseSpan& lost, void* residual);

/// The selection of most algorithms: top-k of acc.
inline constexpr Selection kSelectTopk{select_topk, put_back_entries};

}  // namespace sparsecoll
