// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// This file is compiled for AVX-512 F and DQ. It must not use inline functions of other files.
#include <immintrin.h>

#include "core/checksum_simd.hpp"

namespace sparsecoll {

namespace {

__m512i set(uint64_t x) { return _mm512_set1_epi64(static_cast<long long>(x)); }

__m512i mix_eight(__m512i x) {
  x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64(x, 30)), set(0xbf58476d1ce4e5b9ull));
  x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64(x, 27)), set(0x94d049bb133111ebull));
  return _mm512_xor_si512(x, _mm512_srli_epi64(x, 31));
}

}  // namespace

uint64_t mixed_words_avx512(const std::byte* at, size_t words, uint64_t position) {
  const __m512i nth = _mm512_set_epi64(8, 7, 6, 5, 4, 3, 2, 1);
  __m512i positions = _mm512_add_epi64(set(position), _mm512_mullo_epi64(nth, set(kPositionStep)));
  __m512i sum = _mm512_setzero_si512();
  for (; words > 0; at += 64) {
    const size_t n = words < 8 ? words : 8;
    const auto lanes = static_cast<__mmask8>((1u << n) - 1);
    const __m512i eight = _mm512_maskz_loadu_epi64(lanes, at);
    sum = _mm512_mask_add_epi64(sum, lanes, sum, mix_eight(_mm512_xor_si512(eight, positions)));
    positions = _mm512_add_epi64(positions, set(8 * kPositionStep));
    words -= n;
  }
  uint64_t lane[8], all = 0;
  _mm512_storeu_si512(lane, sum);
  for (const uint64_t each : lane) all += each;
  return all;
}

}  // namespace sparsecoll
