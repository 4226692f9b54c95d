// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loops for each level of vector instructions: the pass over a long vector that extracts the
// candidates of a selection (candidate_selection.hpp), and the one that extracts large sums from a
// tile (merge.hpp). This header has plain structs and function pointers only. Code that is compiled
// for one level must not be linked into code that runs at another, as inline functions would be.

#include <cstddef>
#include <cstdint>

#include "core/numeric.hpp"

namespace sparsecoll::host {

struct SparseLoops;  // sparse_simd.hpp

/// Levels of vector instructions. Each includes the ones before it.
enum class Simd : int { portable = 0, avx2 = 1, avx512 = 2 };

/// Elements that a pass compares at the same time.
inline constexpr size_t kRow = 64;

/// The filter of one chunk: acc = values + previous. Entries of acc that reach `bound` become
/// candidates, which are written to `index` and `value` one after another. All of acc becomes
/// `next`, except that candidates leave 0 there if values are not rounded (kSentExactly).
template <class T>
struct FilterTask {
  const T* values;
  const Accumulation<T>* previous;  ///< null: no residual; acc is the values
  Accumulation<T>* next;            ///< null: no residual
  size_t count;
  /// Least key of a candidate; kNoKey: there are no candidates. It is a key of the accumulation
  /// type, or of T if there is no residual.
  uint64_t bound;
  uint32_t* index;         ///< has room for count + kRow
  Accumulation<T>* value;  ///< has room for count + kRow
  uint32_t first;          ///< index of values[0]
  bool streaming;          ///< `next` is too large for the caches
  bool dense;              ///< candidates are many: do not branch for each
};

/// True if a selected value of T is sent without rounding, so that its residual is 0.
template <class T>
inline constexpr bool kSentExactly = sizeof(T) != 2;

/// A bound that no value of type K reaches, not even NaN.
template <class K>
inline constexpr uint64_t kNoKey = uint64_t{1} << (8 * sizeof(K) - 1);

/// Filters one chunk. Returns the number of candidates.
template <class T>
using FilterFunction = size_t (*)(const FilterTask<T>&);

/// The extraction of large values from a tile, all of whose values become 0.
template <class T>
struct ExtractTask {
  T* values;
  size_t count;        ///< whole rows
  uint64_t bound;      ///< key of T that the large ones reach
  uint32_t* position;  ///< positions of the large values, rising; has room for kExtractSlack more
  T* value;            ///< the large values; has room for kExtractSlack more
};
/// Elements that may be written behind the last one. Rows are written without a branch, which is
/// faster than predicting whether a row has a large value.
inline constexpr size_t kExtractSlack = 3;

/// Returns the number of large values. The pointer is null if this level is too slow for it.
template <class T>
using ExtractFunction = size_t (*)(const ExtractTask<T>&);

/// The loops for one level of vector instructions. All but portable_filters() take multiples of
/// kRow, with `next` aligned to kAlignment.
struct FilterFunctions {
  ExtractFunction<float> extract_f32;
  ExtractFunction<double> extract_f64;
  FilterFunction<float> f32;
  FilterFunction<double> f64;
  FilterFunction<Float16> f16;
  FilterFunction<Bfloat16> bf16;
  /// Copies whole rows to memory aligned to kAlignment, past the caches.
  void (*stream)(void* to, const void* from, size_t bytes);
  void (*finish)();  ///< called after the last chunk of a thread: makes streamed stores visible to
                     ///< others
};

const FilterFunctions& portable_filters();
/// Returns the loops of a level; null if this machine does not have it (simd_x86.cpp,
/// simd_other.cpp).
const FilterFunctions* find_filters(Simd simd);
/// Returns the loops of a level; null if it has none, or this machine does not have the level.
const SparseLoops* find_sparse_loops(Simd simd);
/// Returns the highest level of this machine.
Simd best_simd();

}  // namespace sparsecoll::host
