// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Loops that copy indices and values, for kAvx512SparseLoops. This file is compiled for the same
// instructions as sparse_avx512.cpp. Only the functions of simd_x86.hpp have external linkage.
#include <immintrin.h>

#include <cstring>

#include "kernels/host/simd_x86.hpp"

namespace sparsecoll::host {
namespace {

__mmask16 lowest(size_t n) { return static_cast<__mmask16>((1u << n) - 1); }

__m512i set(uint32_t value) { return _mm512_set1_epi32(static_cast<int>(value)); }

}  // namespace

void put_plain_avx512(const uint32_t* index, size_t n, uint32_t begin, uint32_t* distance) {
  const __m512i begins = set(begin);
  size_t j = 0;
  for (; j + 16 <= n; j += 16)
    _mm512_storeu_si512(distance + j, _mm512_sub_epi32(_mm512_loadu_si512(index + j), begins));
  const __mmask16 rest = lowest(n - j);
  _mm512_mask_storeu_epi32(distance + j, rest,
                           _mm512_sub_epi32(_mm512_maskz_loadu_epi32(rest, index + j), begins));
}

bool get_plain_avx512(const PlainTask& in) {
  const auto load = [&](uint64_t j, __mmask16 lanes) {
    return _mm512_maskz_loadu_epi32(lanes, in.at + j * sizeof(uint32_t));
  };
  const __m512i begin = set(in.begin);
  const __mmask16 all = lowest(16);
  unsigned falls = 0;
  uint32_t first;  // no entry comes before it
  std::memcpy(&first, in.at, sizeof first);
  in.out[0] = first + in.begin;
  uint64_t j = 1;
  for (; j + 16 <= in.nnz; j += 16) {
    const __m512i distance = load(j, all);
    falls |= _mm512_cmple_epu32_mask(distance, load(j - 1, all));
    _mm512_storeu_si512(in.out + j, _mm512_add_epi32(distance, begin));
  }
  const __mmask16 rest = lowest(in.nnz - j);
  const __m512i distance = load(j, rest);
  falls |= _mm512_mask_cmple_epu32_mask(rest, distance, load(j - 1, rest));
  _mm512_mask_storeu_epi32(in.out + j, rest, _mm512_add_epi32(distance, begin));
  return falls == 0;
}

void canonical_f32_avx512(const float* in, size_t n, float* out) {
  const __m512i nan = set(0x7fc00000);
  const auto copy = [&](size_t j, __mmask16 lanes) {
    const __m512i bits = _mm512_maskz_loadu_epi32(lanes, in + j);
    const __m512 value = _mm512_castsi512_ps(bits);
    const __mmask16 nans = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    _mm512_mask_storeu_epi32(out + j, lanes, _mm512_mask_mov_epi32(bits, nans, nan));
  };
  size_t j = 0;
  for (; j + 16 <= n; j += 16) copy(j, lowest(16));
  copy(j, lowest(n - j));
}

void canonical_f64_avx512(const double* in, size_t n, double* out) {
  const __m512i nan = _mm512_set1_epi64(0x7ff8000000000000);
  const auto copy = [&](size_t j, __mmask8 lanes) {
    const __m512i bits = _mm512_maskz_loadu_epi64(lanes, in + j);
    const __m512d value = _mm512_castsi512_pd(bits);
    const __mmask8 nans = _mm512_cmp_pd_mask(value, value, _CMP_UNORD_Q);
    _mm512_mask_storeu_epi64(out + j, lanes, _mm512_mask_mov_epi64(bits, nans, nan));
  };
  size_t j = 0;
  for (; j + 8 <= n; j += 8) copy(j, static_cast<__mmask8>(lowest(8)));
  copy(j, static_cast<__mmask8>(lowest(n - j)));
}

}  // namespace sparsecoll::host
