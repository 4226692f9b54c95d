// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/numeric.hpp"
#include "core/sparse.hpp"

namespace sparsecoll::host {

/// A sparse vector with known types and length.
template <class T, class I>
struct View {
  const I* index;  ///< null: dense
  const T* value;
  size_t nnz;

  explicit View(const SparseSpan& span)
      : index(static_cast<const I*>(span.index)),
        value(static_cast<const T*>(span.value)),
        nnz(span.nnz.at ? *span.nnz.at : span.nnz.bound) {}
  uint64_t at(size_t j) const { return index ? index[j] : j; }
};

/// Appends entries to a SparseBuffer. done() publishes the count.
template <class T, class I>
class Writer {
 public:
  explicit Writer(const SparseBuffer& out)
      : index_(static_cast<I*>(out.index)), value_(static_cast<T*>(out.value)), out_(out) {}
  void add(uint64_t index, T value) {
    index_[n_] = static_cast<I>(index);
    value_[n_] = value;
    ++n_;
  }
  /// Writes the entry, also if it does not pass: the next one then overwrites it. No branch.
  void add_if(bool passes, uint64_t index, T value) {
    index_[n_] = static_cast<I>(index);
    value_[n_] = value;
    n_ += passes;
  }
  void done() { *out_.nnz = n_; }

 private:
  I* index_;
  T* value_;
  const SparseBuffer& out_;
  size_t n_ = 0;
};

}  // namespace sparsecoll::host
