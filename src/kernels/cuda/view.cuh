// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/numeric.hpp"
#include "core/sparse.hpp"
#include "kernels/cuda/launch.cuh"

namespace sparsecoll::cuda {

/// A sparse vector of known types to be read. Its length may be known only to the device.
template <class T, class I>
struct View {
  const I* index;  ///< null if dense
  const T* value;
  Length nnz;

  View() = default;
  explicit View(const SparseSpan& span)
      : index(static_cast<const I*>(span.index)),
        value(static_cast<const T*>(span.value)),
        nnz{span.nnz.at, span.nnz.bound} {}
  /// A dense vector.
  __device__ View(const T* values, size_t n) : index(nullptr), value(values), nnz{nullptr, n} {}
  __device__ uint64_t at(size_t j) const { return index ? index[j] : j; }
};

/// A sparse vector to be written.
template <class T, class I>
struct Output {
  I* index;  ///< null if dense
  T* value;
  uint64_t* nnz;
  size_t capacity;

  Output() = default;
  explicit Output(const SparseBuffer& buffer)
      : index(static_cast<I*>(buffer.index)),
        value(static_cast<T*>(buffer.value)),
        nnz(buffer.nnz),
        capacity(buffer.capacity) {}
  __device__ void put(size_t j, uint64_t i, T v) const {
    if (index) index[j] = static_cast<I>(i);
    value[j] = v;
  }
};

}  // namespace sparsecoll::cuda
