// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loops over sparse entries with indices of 32 bits, for the levels of vector instructions that are
// worth it; elsewhere, and for all else, there are the plain loops of coded.hpp, threshold.hpp,
// select.hpp and feedback.hpp. As in filter.hpp, plain structs and function pointers alone.

#include <cstddef>
#include <cstdint>

namespace sparsecoll::host {

/// Coded indices that are to be read: a EliasFanoLayout of at most kMaxSimdLowBits low bits, whose
/// string goes on for kSimdTail bytes from where its unary part begins, and of a region of at most
/// 2^31: what bytes of any kind say is below twice the length, so that no distance wraps.
struct DecodeTask {
  const std::byte* at;
  uint64_t nnz;
  unsigned low;
  uint64_t unary;
  uint64_t end;
  uint32_t begin;  ///< which is added to each distance
  uint32_t* out;   ///< room for nnz
};
inline constexpr unsigned kMaxSimdLowBits = 16;
inline constexpr uint64_t kSimdTail = 64;

/// Indices that are to be coded: strictly rising, at least one, of a region of at most 2^31, with a
/// EliasFanoLayout of at most kMaxSimdLowBits low bits.
struct EncodeTask {
  const uint32_t* index;
  uint64_t nnz;
  uint32_t begin;  ///< of the region
  unsigned low;
  uint64_t unary;
  uint64_t words;
  std::byte* at;  ///< room for `words`, aligned to none
};

/// Entries of which those pass that have a key above `key`. What is written overlaps nothing.
template <class T>
struct PartitionTask {
  const uint32_t* index;
  const T* value;
  size_t count;
  uint64_t key;
  uint32_t* kept_index;  ///< room for those that pass
  T* kept_value;
  uint32_t* dropped_index;  ///< of the other non-zeros; null: they are not wanted
  T* dropped_value;
};

struct PartitionCounts {
  size_t kept;
  size_t dropped;
};

/// Values of which those are copied out that have a key in [begin, end).
template <class T, class K>
struct KeyRangeTask {
  const T* value;
  size_t count;
  uint64_t begin;
  uint64_t end;
  K* few;  ///< room for those in it
};

struct KeyRangeCounts {
  size_t within;
  size_t above;  ///< keys of at least `end`
};

/// What one level has.
struct SparseLoops {
  /// Whether each of n indices is larger than the one before it.
  bool (*rising)(const uint32_t* index, size_t n);
  void (*encode)(const EncodeTask&);
  /// Writes all indices; false unless there are as many as there should be, rising.
  bool (*decode)(const DecodeTask&);
  PartitionCounts (*partition_f32)(const PartitionTask<float>&);
  PartitionCounts (*partition_f64)(const PartitionTask<double>&);
  KeyRangeCounts (*key_range_f32)(const KeyRangeTask<float, uint32_t>&);
  KeyRangeCounts (*key_range_f64)(const KeyRangeTask<double, uint64_t>&);
};

}  // namespace sparsecoll::host
