// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// This file is for machines without loops for vector instructions.
#include "kernels/host/filter.hpp"

namespace sparsecoll::host {

const FilterFunctions* find_filters(Simd simd) {
  return simd == Simd::portable ? &portable_filters() : nullptr;
}

const SparseLoops* find_sparse_loops(Simd) { return nullptr; }

Simd best_simd() { return Simd::portable; }

}  // namespace sparsecoll::host
