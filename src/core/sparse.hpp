// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/types.hpp"

namespace sparsecoll {

/// A number that the host may not know yet. It is written in stream order to `at`, in the backend's
/// memory. The host knows an upper bound, and reads the number with Kernels::read().
struct Count {
  size_t bound = 0;
  const uint64_t* at = nullptr;  ///< null: the number is `bound`
};

/// The type that represents the values of a vector exactly, in which messages carry them.
/// `accumulated`: the accumulation type, because the values are sums. `stored`: the type of the
/// tensor. `bfloat16`: bfloat16. `int8`: 8 bits, with a scale for neighbours (core/int8.hpp).
enum class Precision : int { accumulated, stored, bfloat16, int8 };

/// A view of a sparse vector, whose indices rise strictly. Without an `index` it is dense: entry j
/// has index j. A default view has no entries. The Kernels that made it know the types of index and
/// value.
struct SparseSpan {
  const void* index = nullptr;
  const void* value = nullptr;
  Count nnz;
  Precision precision = Precision::accumulated;

  /// Returns the view with values that are known to be of the tensor's type; known() sets any
  /// precision.
  SparseSpan stored() const { return known(Precision::stored); }
  SparseSpan known(Precision what) const { return {index, value, nnz, what}; }
};

/// Memory for a sparse vector, owned by the arena of the call.
struct SparseBuffer {
  void* index = nullptr;
  void* value = nullptr;
  uint64_t* nnz = nullptr;
  size_t capacity = 0;

  SparseSpan span() const { return {index, value, {capacity, nnz}}; }
};

/// The indices [begin, end) of a dense vector.
struct Region {
  uint64_t begin = 0;
  uint64_t end = 0;

  constexpr uint64_t length() const { return end - begin; }
};

}  // namespace sparsecoll
