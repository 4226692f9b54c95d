// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/types.hpp"

namespace sparsecoll {

/// Maps 64-bit words one to one (the finalizer of splitmix64). One changed bit changes about half
/// of the result.
constexpr uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// Returns the contribution of a chunk to the checksum of its message. The chunk begins at offset
/// `first`, a multiple of 8. Its size is a multiple of 8, too, except at the end of the message.
uint64_t checksum_of_chunk(ConstBytes bytes, uint64_t first);

/// Returns the sum of the mixed words, each combined with its position, and of the mixed length. A
/// change within one word always changes it, because mix() is one-to-one. The sum may be formed in
/// any order, as parallel code does, and chunk by chunk.
inline uint64_t checksum(ConstBytes bytes) {
  return mix(bytes.size()) + checksum_of_chunk(bytes, 0);
}

/// Returns the sum of this number of words, each mixed with its position in the message: the first
/// one with `position` + kPositionStep (checksum_simd.hpp), each next one with kPositionStep
/// more.
uint64_t mixed_words(const std::byte* at, size_t words, uint64_t position);

}  // namespace sparsecoll
