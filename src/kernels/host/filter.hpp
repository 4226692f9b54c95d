// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The pass over a long vector that finds the candidates of a selection (staged.hpp), and the one
// that takes large sums out of a tile (merge.hpp), written once for each level of vector
// instructions. Plain structs and function pointers alone: what is
// compiled for one level must not be linked into code that runs at another, as inline functions
// would be.

#include <cstddef>
#include <cstdint>

#include "core/numeric.hpp"

namespace sparsecoll::host {

struct SparseLoops;  // sift.hpp

/// Levels of vector instructions, each with all that the ones before it have.
enum class Simd : int { portable = 0, avx2 = 1, avx512 = 2 };

/// Elements that a pass looks at together.
inline constexpr size_t kRow = 64;

/// A piece of such a pass: acc = values + previous. The entries of acc that reach `bound` become
/// candidates, written to `index` and `value` one after another, and all of acc becomes `next`, but
/// that candidates leave nothing there where values are not rounded (kSentExactly).
template <class T>
struct FilterTask {
  const T* values;
  const Accumulation<T>* previous;  ///< null: no residual; acc is the values
  Accumulation<T>* next;            ///< null likewise
  size_t count;
  /// Least key of a candidate: of the accumulation type, or of T without a residual. kNoKey: none.
  uint64_t bound;
  uint32_t* index;         ///< room for count + kRow
  Accumulation<T>* value;  ///< likewise
  uint32_t first;          ///< index of values[0]
  bool streaming;          ///< `next` is too large for the caches
  bool dense;              ///< candidates are many: do not branch for each
};

/// What is selected of T leaves no part of it in the residual.
template <class T>
inline constexpr bool kSentExactly = sizeof(T) != 2;

/// Above all bits of a magnitude in K, those of NaNs too.
template <class K>
inline constexpr uint64_t kNoKey = uint64_t{1} << (8 * sizeof(K) - 1);

/// Makes the piece; returns how many candidates there are.
template <class T>
using FilterFunction = size_t (*)(const FilterTask<T>&);

/// The large ones among some values, all of which become zeros.
template <class T>
struct ExtractTask {
  T* values;
  size_t count;        ///< whole rows
  uint64_t bound;      ///< key of T that the large ones reach
  uint32_t* position;  ///< of the large ones, rising; room for kExtractSlack more than there are
  T* value;            ///< of the large ones; likewise
};
/// What may be written behind the last one: it takes longer to foresee whether a row has any.
inline constexpr size_t kExtractSlack = 3;

/// Returns how many large ones there are. Null where a level is too slow at it.
template <class T>
using ExtractFunction = size_t (*)(const ExtractTask<T>&);

/// What one level has. All but portable_filters() take whole rows, with `next` aligned to
/// kAlignment.
struct FilterFunctions {
  ExtractFunction<float> extract_f32;
  ExtractFunction<double> extract_f64;
  FilterFunction<float> f32;
  FilterFunction<double> f64;
  FilterFunction<Float16> f16;
  FilterFunction<Bfloat16> bf16;
  void (*finish)();  ///< after a thread's last piece: streamed stores are seen by others
};

const FilterFunctions& portable_filters();
/// Null where this machine does not have that level (simd_x86.cpp, simd_other.cpp).
const FilterFunctions* find_filters(Simd simd);
/// Null where that level has none, or this machine not that level.
const SparseLoops* find_sparse_loops(Simd simd);
/// The highest level of this machine.
Simd best_simd();

}  // namespace sparsecoll::host
