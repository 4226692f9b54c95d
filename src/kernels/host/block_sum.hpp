// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <new>
#include <type_traits>

#include "kernels/host/backend.hpp"
#include "kernels/kernels.hpp"

namespace sparsecoll::host {

/// Adds the vectors of a SummedVectors block by block, in memory that stays in a core's caches.
/// Each thread has its own instance.
template <class T>
class BlockSum {
  using Acc = Accumulation<T>;

 public:
  /// The largest number of elements of one add(). It is small enough for the caches, and so large
  /// that the cost of a call to read another process's memory does not matter.
  static constexpr size_t kMost = size_t{1} << 15;

  BlockSum(SummedVectors& vectors, Backend* backend, Arena& arena)
      : vectors_(vectors), backend_(backend), copy_(arena.take<T>(kMost)) {}

  /// Computes elements [begin, begin + count) of the sum, in the order of the vectors. Returns
  /// false if one of them cannot be read.
  bool add(size_t begin, size_t count, Acc* to) const {
    const Acc* sum = nullptr;
    for (size_t v = 0; v < vectors_.number(); ++v) {
      T* copy = copy_;
      if constexpr (std::is_same_v<T, Acc>) copy = v == 0 ? to : copy_;
      const auto* const values = static_cast<const T*>(vectors_.read(v, begin, count, copy));
      if (!values) return false;
      if (sum)
        add_vector(sum, values, count, to);
      else if constexpr (!std::is_same_v<T, Acc>)
        std::transform(values, values + count, to, [](T value) { return widen(value); });
      sum = to;
      if constexpr (std::is_same_v<T, Acc>)
        if (v == 0) sum = values;  // no copy: the first addition writes to `to`
    }
    if (sum != to) std::copy_n(sum, count, to);
    return true;
  }

 private:
  /// Adds with the filter, for its vector instructions. The filter's bound is one that no value
  /// reaches.
  void add_vector(const Acc* sum, const T* values, size_t count, Acc* to) const {
    size_t rows = 0;
    if constexpr (!Integer<T>) {
      if (backend_ && reinterpret_cast<uintptr_t>(to) % kAlignment == 0) {
        rows = count / kRow * kRow;
        FilterTask<T> task{};
        task.values = values;
        task.previous = sum;
        task.next = to;
        task.count = rows;
        task.bound = kNoKey<Acc>;
        if (rows > 0) filter_of(backend_->filters(), T{})(task);
      }
    }
    for (size_t i = rows; i < count; ++i) to[i] = widen(values[i]) + sum[i];
  }

  SummedVectors& vectors_;
  Backend* const backend_;
  T* const copy_;
};

/// The values that one thread filters: a gradient's, or the sums of vectors, a block at a time.
template <class T>
class FilteredValues {
 public:
  /// If there are vectors, their sum stands for `values`, and T is its accumulation type.
  FilteredValues(const T* values, SummedVectors* vectors, Backend& backend) : values_(values) {
    if (!vectors) return;
    sum_ =
        new (backend.arena().take<BlockSum<T>>(1)) BlockSum<T>(*vectors, &backend, backend.arena());
    sums_ = backend.arena().take<T>(BlockSum<T>::kMost);
  }

  /// Returns the values from `begin` on. If they are sums, it first adds `count` of them, or kMost
  /// if `count` is 0, but none from `end` on, unless the last call has added them. Returns null if
  /// a vector cannot be read.
  const T* from(size_t begin, size_t count, size_t end) {
    if (!sum_) return values_ + begin;
    if (begin < begin_ || begin >= end_) {
      begin_ = begin;
      end_ = std::min(begin + (count != 0 ? count : BlockSum<T>::kMost), end);
      if constexpr (std::is_same_v<T, Accumulation<T>>)
        failed_ = !sum_->add(begin_, end_ - begin_, sums_);
      if (failed_) return nullptr;
    }
    return sums_ + (begin - begin_);
  }
  bool failed() const { return failed_; }

 private:
  const T* values_;
  const BlockSum<T>* sum_ = nullptr;
  T* sums_ = nullptr;  ///< sums of the elements [begin_, end_)
  size_t begin_ = 0;
  size_t end_ = 0;
  bool failed_ = false;
};

}  // namespace sparsecoll::host
