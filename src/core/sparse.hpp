// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/types.hpp"

namespace sparsecoll {

/// A number that may not be known to the host yet: `at` is in the place's memory and written in
/// stream order; the host knows only the upper bound. Kernels::read() is the way to learn it.
struct Count {
  size_t bound = 0;
  const uint64_t* at = nullptr;  ///< null: exactly `bound`
};

/// What values are known to be, whose type is always the accumulation type: sums, or values that
/// the tensor's own type or bfloat16 holds exactly, and which travel in it.
enum class Precision : int { accumulated, stored, bfloat16 };

/// View of a sparse vector: indices strictly rising. A null `index` means dense: entry j has index
/// j. A view of nothing has no entries. The types of index and value are those of the Kernels that
/// made it.
struct SparseSpan {
  const void* index = nullptr;
  const void* value = nullptr;
  Count nnz;
  Precision precision = Precision::accumulated;

  /// The same, known to hold only what this rank put in and nothing that was added up; or such
  /// values.
  SparseSpan stored() const { return known(Precision::stored); }
  SparseSpan known(Precision what) const { return {index, value, nnz, what}; }
};

/// A sparse vector to be written, in memory that the call's arena owns.
struct SparseBuffer {
  void* index = nullptr;
  void* value = nullptr;
  uint64_t* nnz = nullptr;
  size_t capacity = 0;

  SparseSpan span() const { return {index, value, {capacity, nnz}}; }
};

/// Indices [begin, end) of the dense vector.
struct Region {
  uint64_t begin = 0;
  uint64_t end = 0;

  constexpr uint64_t length() const { return end - begin; }
};

}  // namespace sparsecoll
