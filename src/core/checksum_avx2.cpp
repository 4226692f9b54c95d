// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// This file is compiled for AVX2. It must not use inline functions of other files.
#include <immintrin.h>

#include "core/checksum_simd.hpp"

namespace sparsecoll {

namespace {

__m256i set(uint64_t x) { return _mm256_set1_epi64x(static_cast<long long>(x)); }

/// Returns the products modulo 2^64, of which AVX2 has only those of 32 bits.
__m256i multiply(__m256i x, uint64_t factor) {
  const __m256i high = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(x, 32), set(factor)),
                                        _mm256_mul_epu32(x, set(factor >> 32)));
  return _mm256_add_epi64(_mm256_mul_epu32(x, set(factor)), _mm256_slli_epi64(high, 32));
}

__m256i mix_four(__m256i x) {
  x = multiply(_mm256_xor_si256(x, _mm256_srli_epi64(x, 30)), 0xbf58476d1ce4e5b9ull);
  x = multiply(_mm256_xor_si256(x, _mm256_srli_epi64(x, 27)), 0x94d049bb133111ebull);
  return _mm256_xor_si256(x, _mm256_srli_epi64(x, 31));
}

}  // namespace

uint64_t mixed_words_avx2(const std::byte* at, size_t words, uint64_t position) {
  const __m256i nth = _mm256_set_epi64x(4, 3, 2, 1);
  __m256i positions = _mm256_add_epi64(set(position), multiply(nth, kPositionStep));
  __m256i sum = _mm256_setzero_si256();
  for (; words > 0; at += 32) {
    const size_t n = words < 4 ? words : 4;
    const __m256i lanes = _mm256_cmpgt_epi64(set(n + 1), nth);
    const __m256i four = _mm256_maskload_epi64(reinterpret_cast<const long long*>(at), lanes);
    const __m256i mixed = mix_four(_mm256_xor_si256(four, positions));
    sum = _mm256_add_epi64(sum, _mm256_and_si256(mixed, lanes));
    positions = _mm256_add_epi64(positions, set(4 * kPositionStep));
    words -= n;
  }
  uint64_t lane[4], all = 0;
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(lane), sum);
  for (const uint64_t each : lane) all += each;
  return all;
}

}  // namespace sparsecoll
