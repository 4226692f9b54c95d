// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// This file is compiled for AVX2 and F16C. Only the table has external linkage.
#include <immintrin.h>

#include "kernels/host/filter_rows.hpp"
#include "kernels/host/simd_x86.hpp"

namespace sparsecoll::host {
namespace {

/// The set lanes of each mask, in order: AVX2 cannot compress, but permute.
template <size_t kLanes>
struct LanesOfMask {
  uint8_t lane[size_t{1} << kLanes][kLanes] = {};
  constexpr LanesOfMask() {
    for (size_t mask = 0; mask < (size_t{1} << kLanes); ++mask) {
      size_t n = 0;
      for (uint8_t each = 0; each < kLanes; ++each)
        if ((mask >> each & 1) != 0) lane[mask][n++] = each;
    }
  }
};
constexpr LanesOfMask<8> kEight;
constexpr LanesOfMask<4> kFour;

struct FloatLanes {
  static constexpr size_t kLanes = 8;
  using Vector = __m256;
  /// Returns the number just below the key, because AVX2 only compares with "greater than". It
  /// compares signed numbers, which is right for magnitudes, since they have no sign bit.
  static __m256i bound_of(uint64_t key) {
    return _mm256_set1_epi32(static_cast<int>(static_cast<uint32_t>(key) - 1));
  }
  static Vector load(const float* at) { return _mm256_loadu_ps(at); }
  static Vector load(const Float16* at) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }
  static Vector load(const Bfloat16* at) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
  static Vector add(Vector v, const float* at) { return _mm256_add_ps(v, _mm256_loadu_ps(at)); }
  static __m256i above(Vector v, __m256i bound) {
    const __m256i magnitude =
        _mm256_and_si256(_mm256_castps_si256(v), _mm256_set1_epi32(0x7fffffff));
    return _mm256_cmpgt_epi32(magnitude, bound);
  }
  static unsigned reaching(Vector v, __m256i bound) {
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(above(v, bound))));
  }
  static Vector clear(unsigned mask, Vector v) {
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i bits = _mm256_and_si256(_mm256_set1_epi32(static_cast<int>(mask)), bit);
    return _mm256_andnot_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(bits, bit)), v);
  }
  static void store(float* at, Vector v) { _mm256_storeu_ps(at, v); }
  static void stream(float* at, Vector v) { _mm256_stream_ps(at, v); }
  static size_t append(unsigned mask, Vector v, uint32_t first, uint32_t* index, float* value) {
    const __m256i lane =
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(kEight.lane[mask])));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(index),
                        _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(first)), lane));
    _mm256_storeu_ps(value, _mm256_permutevar8x32_ps(v, lane));
    return static_cast<size_t>(__builtin_popcount(mask));
  }
};

struct DoubleLanes {
  static constexpr size_t kLanes = 4;
  using Vector = __m256d;
  static __m256i bound_of(uint64_t key) {
    return _mm256_set1_epi64x(static_cast<long long>(key - 1));
  }
  static Vector load(const double* at) { return _mm256_loadu_pd(at); }
  static Vector add(Vector v, const double* at) { return _mm256_add_pd(v, _mm256_loadu_pd(at)); }
  static unsigned reaching(Vector v, __m256i bound) {
    const __m256i magnitude =
        _mm256_and_si256(_mm256_castpd_si256(v), _mm256_set1_epi64x(0x7fffffffffffffffll));
    return static_cast<unsigned>(
        _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(magnitude, bound))));
  }
  static Vector clear(unsigned mask, Vector v) {
    const __m256i bit = _mm256_setr_epi64x(1, 2, 4, 8);
    const __m256i bits = _mm256_and_si256(_mm256_set1_epi64x(mask), bit);
    return _mm256_andnot_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(bits, bit)), v);
  }
  static void store(double* at, Vector v) { _mm256_storeu_pd(at, v); }
  static void stream(double* at, Vector v) { _mm256_stream_pd(at, v); }
  static size_t append(unsigned mask, Vector v, uint32_t first, uint32_t* index, double* value) {
    const __m128i lane = _mm_cvtepu8_epi32(_mm_loadu_si32(kFour.lane[mask]));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(index),
                     _mm_add_epi32(_mm_set1_epi32(static_cast<int>(first)), lane));
    // AVX2 permutes 32 bits at a time: lane n of doubles is the pair 2 n, 2 n + 1.
    const __m256i pair = _mm256_slli_epi64(_mm256_cvtepu32_epi64(lane), 1);
    const __m256i halves =
        _mm256_or_si256(pair, _mm256_slli_epi64(_mm256_add_epi64(pair, _mm256_set1_epi64x(1)), 32));
    _mm256_storeu_pd(value,
                     _mm256_castps_pd(_mm256_permutevar8x32_ps(_mm256_castpd_ps(v), halves)));
    return static_cast<size_t>(__builtin_popcount(mask));
  }
};

__m256 widened(const Float16*, __m128i half) { return _mm256_cvtph_ps(half); }
__m256 widened(const Bfloat16*, __m128i half) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}

/// Values of 16 bits are compared as they are, and widened when they become candidates.
template <class T>
struct HalfLanes {
  static constexpr size_t kLanes = 16;
  using Vector = __m256i;
  static __m256i bound_of(uint64_t key) {
    return _mm256_set1_epi16(static_cast<short>(static_cast<uint16_t>(key - 1)));
  }
  static Vector load(const T* at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  }
  static unsigned reaching(Vector v, __m256i bound) {
    const __m256i above = _mm256_cmpgt_epi16(_mm256_and_si256(v, _mm256_set1_epi16(0x7fff)), bound);
    const __m128i packed =
        _mm_packs_epi16(_mm256_castsi256_si128(above), _mm256_extracti128_si256(above, 1));
    return static_cast<unsigned>(_mm_movemask_epi8(packed));
  }
  static size_t append(unsigned mask, Vector v, uint32_t first, uint32_t* index, float* value) {
    const T* const tag = nullptr;
    size_t found = FloatLanes::append(mask & 0xff, widened(tag, _mm256_castsi256_si128(v)), first,
                                      index, value);
    found += FloatLanes::append(mask >> 8, widened(tag, _mm256_extracti128_si256(v, 1)), first + 8,
                                index + found, value + found);
    return found;
  }
};

}  // namespace

const FilterFunctions kAvx2Filters{&extract<FloatLanes, float>,
                                   &extract<DoubleLanes, double>,
                                   &filter<FloatLanes, FloatLanes, float>,
                                   &filter<DoubleLanes, DoubleLanes, double>,
                                   &filter<FloatLanes, HalfLanes<Float16>, Float16>,
                                   &filter<FloatLanes, HalfLanes<Bfloat16>, Bfloat16>,
                                   &stream<FloatLanes>,
                                   [] { _mm_sfence(); }};

}  // namespace sparsecoll::host
