// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/host/filter.hpp"
#include "kernels/host/sparse_simd.hpp"

namespace sparsecoll::host {

// The loops for the levels of vector instructions (Simd) of x86-64 processors. Only processors that
// have the level can run them, so callers get them from find_filters() and find_sparse_loops().
extern const FilterFunctions kAvx2Filters;
extern const FilterFunctions kAvx512Filters;
extern const SparseLoops kAvx512SparseLoops;

// Parts of kAvx512SparseLoops (plain_avx512.cpp).
void put_plain_avx512(const uint32_t* index, size_t n, uint32_t begin, uint32_t* distance);
bool get_plain_avx512(const PlainTask& in);
void canonical_f32_avx512(const float* in, size_t n, float* out);
void canonical_f64_avx512(const double* in, size_t n, double* out);

}  // namespace sparsecoll::host
