// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace sparsecoll {

/// The size in bytes up to which an MPI message is sent eagerly, that is without waiting for the
/// receiver. Open MPI over TCP asks the receiver before it sends more than 64 KiB, its own header
/// included, and on busy links the answer is late.
inline constexpr size_t kEagerBytes = 60 * 1024;
inline constexpr size_t kMaxEagerChunks = 64;

/// Returns how many chunks follow an MPI message of this size if it is the first chunk of an eager
/// message, else 0. The first chunk has kEagerBytes + m bytes, m from 1 to kMaxEagerChunks, and m
/// chunks follow. Each has kEagerBytes bytes; only the last may be shorter, or even empty. The
/// sender starts all of them at once and leaves none out.
constexpr size_t eager_chunks_after(size_t bytes) {
  return bytes > kEagerBytes && bytes <= kEagerBytes + kMaxEagerChunks ? bytes - kEagerBytes : 0;
}

/// Returns how many chunks follow the first one if a message of this size is sent as an eager
/// message, or 0 if it cannot be. Each of them carries kEagerBytes bytes and adds one byte to the
/// first chunk.
constexpr size_t eager_chunks_of(size_t message) {
  const size_t more =
      message / (kEagerBytes + 1);  // chunks for the bytes beyond kEagerBytes, rounded up
  return more <= kMaxEagerChunks ? more : 0;
}

}  // namespace sparsecoll
