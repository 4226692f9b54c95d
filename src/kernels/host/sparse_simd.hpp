// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loops over sparse entries with indices of 32 bits. They exist for those levels of vector
// instructions (Simd) that make them faster. At other levels the plain loops of elias_fano.hpp,
// threshold.hpp, select.hpp and feedback.hpp run. This header, too, has plain structs and function
// pointers only (filter.hpp).

#include <cstddef>
#include <cstdint>

namespace sparsecoll::host {

/// Coded indices to be read: an EliasFanoLayout of at most kMaxSimdLowBits low bits. The string
/// continues for kSimdTail bytes from the beginning of its unary part. The region has at most 2^31
/// indices: any bytes stand for distances below twice that length, so that none wraps.
struct DecodeTask {
  const std::byte* at;
  uint64_t nnz;
  unsigned low;
  uint64_t unary;
  uint64_t end;
  uint32_t begin;  ///< added to each distance
  uint32_t* out;   ///< room for nnz
};
inline constexpr unsigned kMaxSimdLowBits = 16;
inline constexpr uint64_t kSimdTail = 64;

/// Indices to be coded: strictly rising, at least one, of a region of at most 2^31 indices, with an
/// EliasFanoLayout of at most kMaxSimdLowBits low bits.
struct EncodeTask {
  const uint32_t* index;
  uint64_t nnz;
  uint32_t begin;  ///< begin of the region
  unsigned low;
  uint64_t unary;
  uint64_t words;
  std::byte* at;  ///< room for `words` words; any alignment
};

/// Plain indices to be read, at least one. The last distance lies in the region.
struct PlainTask {
  const std::byte* at;
  uint64_t nnz;
  uint32_t begin;  ///< added to each distance
  uint32_t* out;   ///< room for nnz; does not overlap the message
};

/// Entries to be split: those with a key above `key` pass. The outputs overlap nothing.
template <class T>
struct PartitionTask {
  const uint32_t* index;
  const T* value;
  size_t count;
  uint64_t key;
  uint32_t* kept_index;  ///< room for all entries that pass
  T* kept_value;
  uint32_t* dropped_index;  ///< the other non-zeros; null: not wanted
  T* dropped_value;
};

struct PartitionCounts {
  size_t kept;
  size_t dropped;
};

/// Values to be searched: those with a key in [begin, end) are copied.
template <class T, class K>
struct KeyRangeTask {
  const T* value;
  size_t count;
  uint64_t begin;
  uint64_t end;
  K* few;  ///< room for all values in the range
};

struct KeyRangeCounts {
  size_t within;
  size_t above;  ///< keys of at least `end`
};

/// The loops for one level of vector instructions (Simd).
struct SparseLoops {
  /// Returns whether each of n indices is larger than the one before it.
  bool (*rising)(const uint32_t* index, size_t n);
  void (*encode)(const EncodeTask&);
  /// Writes all indices. Returns false if there are not as many as expected, or if they do not
  /// rise.
  bool (*decode)(const DecodeTask&);
  /// Writes n distances: each index minus `begin`.
  void (*put_plain)(const uint32_t* index, size_t n, uint32_t begin, uint32_t* distance);
  /// Writes all indices. Returns false if they do not rise.
  bool (*get_plain)(const PlainTask&);
  /// Copies n values, and makes every NaN the canonical one.
  void (*canonical_f32)(const float* in, size_t n, float* out);
  void (*canonical_f64)(const double* in, size_t n, double* out);
  PartitionCounts (*partition_f32)(const PartitionTask<float>&);
  PartitionCounts (*partition_f64)(const PartitionTask<double>&);
  KeyRangeCounts (*key_range_f32)(const KeyRangeTask<float, uint32_t>&);
  KeyRangeCounts (*key_range_f64)(const KeyRangeTask<double, uint64_t>&);
};

}  // namespace sparsecoll::host
