// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace sparsecoll {

/// Messages of MPI of up to so many bytes leave at once: Open MPI over TCP asks the receiver before
/// it sends more than 64 KiB, its own header included, and the answer waits behind whatever fills
/// the links.
inline constexpr size_t kEagerBytes = 60 * 1024;
inline constexpr size_t kMaxEagerChunks = 64;

/// A message of kEagerBytes + m bytes, for m of 1 to kMaxEagerChunks, is the first of a message in
/// pieces: m more follow, each of kEagerBytes bytes but for the last, which may be shorter and even
/// empty. All are sent at once, and none is left out. 0: it is no such message.
constexpr size_t eager_chunks_after(size_t bytes) {
  return bytes > kEagerBytes && bytes <= kEagerBytes + kMaxEagerChunks ? bytes - kEagerBytes : 0;
}

/// How many follow the first one of a message in pieces, if it can be one; else 0. Each of them
/// takes kEagerBytes bytes behind the first one's, and one into that.
constexpr size_t eager_chunks_of(size_t message) {
  const size_t more = message / (kEagerBytes + 1);  // of what is beyond kEagerBytes, rounded up
  return more <= kMaxEagerChunks ? more : 0;
}

}  // namespace sparsecoll
