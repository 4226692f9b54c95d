// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// This file is compiled for AVX-512 F, BW, DQ and VL and BMI2. Only the table has external linkage.
#include <immintrin.h>

#include "kernels/host/filter_rows.hpp"
#include "kernels/host/simd_x86.hpp"

namespace sparsecoll::host {
namespace {

// Candidates are compressed to a register, which is stored as a whole. Compressing to memory is
// slow on some machines, and so is zeroing the masked lanes.

struct FloatLanes {
  static constexpr size_t kLanes = 16;
  using Vector = __m512;
  static __m512i bound_of(uint64_t key) {
    return _mm512_set1_epi32(static_cast<int>(static_cast<uint32_t>(key)));
  }
  static Vector load(const float* at) { return _mm512_loadu_ps(at); }
  static Vector load(const Float16* at) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
  }
  static Vector load(const Bfloat16* at) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
  static Vector add(Vector v, const float* at) { return _mm512_add_ps(v, _mm512_loadu_ps(at)); }
  static __mmask16 reaching(Vector v, __m512i bound) {
    const __m512i magnitude =
        _mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32(0x7fffffff));
    return _mm512_cmpge_epu32_mask(magnitude, bound);
  }
  static Vector clear(__mmask16 mask, Vector v) {
    return _mm512_mask_mov_ps(v, mask, _mm512_setzero_ps());
  }
  static void store(float* at, Vector v) { _mm512_storeu_ps(at, v); }
  static void stream(float* at, Vector v) { _mm512_stream_ps(at, v); }
  static size_t append(__mmask16 mask, Vector v, uint32_t first, uint32_t* index, float* value) {
    const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i at = _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(first)), lane);
    _mm512_storeu_si512(index, _mm512_mask_compress_epi32(at, mask, at));
    _mm512_storeu_ps(value, _mm512_mask_compress_ps(v, mask, v));
    return static_cast<size_t>(__builtin_popcount(mask));
  }
};

struct DoubleLanes {
  static constexpr size_t kLanes = 8;
  using Vector = __m512d;
  static __m512i bound_of(uint64_t key) { return _mm512_set1_epi64(static_cast<long long>(key)); }
  static Vector load(const double* at) { return _mm512_loadu_pd(at); }
  static Vector add(Vector v, const double* at) { return _mm512_add_pd(v, _mm512_loadu_pd(at)); }
  static __mmask8 reaching(Vector v, __m512i bound) {
    const __m512i magnitude =
        _mm512_and_si512(_mm512_castpd_si512(v), _mm512_set1_epi64(0x7fffffffffffffffll));
    return _mm512_cmpge_epu64_mask(magnitude, bound);
  }
  static Vector clear(__mmask8 mask, Vector v) {
    return _mm512_mask_mov_pd(v, mask, _mm512_setzero_pd());
  }
  static void store(double* at, Vector v) { _mm512_storeu_pd(at, v); }
  static void stream(double* at, Vector v) { _mm512_stream_pd(at, v); }
  static size_t append(__mmask8 mask, Vector v, uint32_t first, uint32_t* index, double* value) {
    const __m256i lane = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    const __m256i at = _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(first)), lane);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(index),
                        _mm256_mask_compress_epi32(at, mask, at));
    _mm512_storeu_pd(value, _mm512_mask_compress_pd(v, mask, v));
    return static_cast<size_t>(__builtin_popcount(mask));
  }
};

__m512 widened(const Float16*, __m256i half) { return _mm512_cvtph_ps(half); }
__m512 widened(const Bfloat16*, __m256i half) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}

/// Values of 16 bits are compared as they are, and widened when they become candidates.
template <class T>
struct HalfLanes {
  static constexpr size_t kLanes = 32;
  using Vector = __m512i;
  static __m512i bound_of(uint64_t key) {
    return _mm512_set1_epi16(static_cast<short>(static_cast<uint16_t>(key)));
  }
  static Vector load(const T* at) { return _mm512_loadu_si512(at); }
  static __mmask32 reaching(Vector v, __m512i bound) {
    return _mm512_cmpge_epu16_mask(_mm512_and_si512(v, _mm512_set1_epi16(0x7fff)), bound);
  }
  static size_t append(__mmask32 mask, Vector v, uint32_t first, uint32_t* index, float* value) {
    const auto low = static_cast<__mmask16>(mask), high = static_cast<__mmask16>(mask >> 16);
    const T* const tag = nullptr;
    size_t found =
        FloatLanes::append(low, widened(tag, _mm512_castsi512_si256(v)), first, index, value);
    found += FloatLanes::append(high, widened(tag, _mm512_extracti64x4_epi64(v, 1)), first + 16,
                                index + found, value + found);
    return found;
  }
};

}  // namespace

const FilterFunctions kAvx512Filters{&extract<FloatLanes, float>,
                                     &extract<DoubleLanes, double>,
                                     &filter<FloatLanes, FloatLanes, float>,
                                     &filter<DoubleLanes, DoubleLanes, double>,
                                     &filter<FloatLanes, HalfLanes<Float16>, Float16>,
                                     &filter<FloatLanes, HalfLanes<Bfloat16>, Bfloat16>,
                                     &stream<FloatLanes>,
                                     [] { _mm_sfence(); }};

}  // namespace sparsecoll::host
