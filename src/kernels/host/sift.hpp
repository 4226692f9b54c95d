// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loops over sparse entries with indices of 32 bits, for the levels of vector instructions that are
// worth it; elsewhere, and for all else, there are the plain loops of coded.hpp, threshold.hpp,
// select.hpp and feedback.hpp. As in sweep.hpp, plain structs and function pointers alone.

#include <cstddef>
#include <cstdint>

namespace sparsecoll::host {

/// Coded indices that are to be read: a WireCode of at most kSiftedLow low bits, whose string goes
/// on for kSiftedTail bytes from where its unary part begins, and of a region of at most 2^31: what
/// bytes of any kind say is below twice the length, so that no distance wraps.
struct SiftedCode {
  const std::byte* at;
  uint64_t nnz;
  unsigned low;
  uint64_t unary;
  uint64_t end;
  uint32_t begin;  ///< which is added to each distance
  uint32_t* out;   ///< room for nnz
};
inline constexpr unsigned kSiftedLow = 16;
inline constexpr uint64_t kSiftedTail = 64;

/// Indices that are to be coded: strictly rising, at least one, of a region of at most 2^31, with a
/// WireCode of at most kSiftedLow low bits.
struct SiftedIndices {
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
struct Sieve {
  const uint32_t* index;
  const T* value;
  size_t count;
  uint64_t key;
  uint32_t* kept_index;  ///< room for those that pass
  T* kept_value;
  uint32_t* dropped_index;  ///< of the other non-zeros; null: they are not wanted
  T* dropped_value;
};

struct Sifted {
  size_t kept;
  size_t dropped;
};

/// Values of which those are copied out that have a key in [begin, end).
template <class T, class K>
struct Bracket {
  const T* value;
  size_t count;
  uint64_t begin;
  uint64_t end;
  K* few;  ///< room for those in it
};

struct Bracketed {
  size_t within;
  size_t above;  ///< keys of at least `end`
};

/// What one level has.
struct Sifts {
  /// Whether each of n indices is larger than the one before it.
  bool (*rising)(const uint32_t* index, size_t n);
  void (*encode)(const SiftedIndices&);
  /// Writes all indices; false unless there are as many as there should be, rising.
  bool (*decode)(const SiftedCode&);
  Sifted (*sieve_f32)(const Sieve<float>&);
  Sifted (*sieve_f64)(const Sieve<double>&);
  Bracketed (*bracket_f32)(const Bracket<float, uint32_t>&);
  Bracketed (*bracket_f64)(const Bracket<double, uint64_t>&);
};

}  // namespace sparsecoll::host
