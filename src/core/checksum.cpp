// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/checksum.hpp"

#include <cstring>

#include "core/checksum_simd.hpp"
#include "core/environment.hpp"

namespace sparsecoll {

namespace {

using MixedWords = uint64_t (*)(const std::byte*, size_t, uint64_t);

/// Returns the fastest loop of this machine that SPARSECOLL_SIMD allows.
MixedWords fastest_mixed_words() {
#ifdef SPARSECOLL_HAVE_X86_SIMD
  const std::string level = environment("SPARSECOLL_SIMD").value_or("auto");
  if ((level == "auto" || level == "avx512") && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512dq"))
    return &mixed_words_avx512;
  if (level != "portable" && __builtin_cpu_supports("avx2")) return &mixed_words_avx2;
#endif
  return &mixed_words;
}

}  // namespace

uint64_t mixed_words(const std::byte* at, size_t words, uint64_t position) {
  uint64_t sum = 0;
  for (size_t w = 0; w < words; ++w) {
    uint64_t word;
    std::memcpy(&word, at + w * 8, 8);
    sum += mix(word ^ (position += kPositionStep));
  }
  return sum;
}

uint64_t checksum_of_chunk(ConstBytes bytes, uint64_t first) {
  static const MixedWords mixed = fastest_mixed_words();  // all loops compute the same sum
  const size_t words = bytes.size() / 8, last = words * 8;
  const uint64_t position = first / 8 * kPositionStep;
  uint64_t sum = mixed(bytes.data(), words, position);
  if (last < bytes.size()) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + last, bytes.size() - last);
    sum += mix(word ^ (position + (words + 1) * kPositionStep));
  }
  return sum;
}

}  // namespace sparsecoll
