// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/host/filter.hpp"
#include "kernels/host/sparse_simd.hpp"

namespace sparsecoll::host {

// Only for machines that have the level: ask find_filters().
extern const FilterFunctions kAvx2Filters;
extern const FilterFunctions kAvx512Filters;
extern const SparseLoops kAvx512SparseLoops;

}  // namespace sparsecoll::host
