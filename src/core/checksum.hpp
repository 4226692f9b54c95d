// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/types.hpp"

namespace sparsecoll {

/// A bijection of 64-bit words (splitmix64's finaliser): one changed bit changes about half.
constexpr uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// What bytes that begin `first` (a multiple of 8) bytes behind the start of a message add to its
/// checksum; a multiple of 8 of them, but for the message's last.
uint64_t checksum_of_chunk(ConstBytes bytes, uint64_t first);

/// Sum of the mixed words, each bound to its position, and of the mixed length. A change within one
/// word always shows, since mix is a bijection; the sum may be formed in any order, as parallel
/// code needs, and part by part.
inline uint64_t checksum(ConstBytes bytes) {
  return mix(bytes.size()) + checksum_of_chunk(bytes, 0);
}

/// Sum of so many words, each mixed with its position in the message: the first of them with
/// `position` + kPositionStep (checksum_avx512.hpp), the next with that + kPositionStep.
uint64_t mixed_words(const std::byte* at, size_t words, uint64_t position);

}  // namespace sparsecoll
