// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Finds the levels of vector instructions that an x86-64 machine has and that its operating system
// supports.
#include "kernels/host/simd_x86.hpp"

#include <cpuid.h>

namespace sparsecoll::host {

namespace {

bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

bool has(Simd simd) {
  switch (simd) {
    case Simd::portable:
      return true;
    case Simd::avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") && has_f16c();
    case Simd::avx512:
      break;
  }
  return has(Simd::avx2) && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

}  // namespace

const FilterFunctions* find_filters(Simd simd) {
  if (!has(simd)) return nullptr;
  switch (simd) {
    case Simd::portable:
      return &portable_filters();
    case Simd::avx2:
      return &kAvx2Filters;
    case Simd::avx512:
      break;
  }
  return &kAvx512Filters;
}

const SparseLoops* find_sparse_loops(Simd simd) {
  return simd == Simd::avx512 && has(simd) ? &kAvx512SparseLoops : nullptr;
}

Simd best_simd() {
  if (has(Simd::avx512)) return Simd::avx512;
  return has(Simd::avx2) ? Simd::avx2 : Simd::portable;
}

}  // namespace sparsecoll::host
