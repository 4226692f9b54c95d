// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sum of two sparse inputs: always the lower of their next indices. Which one that is cannot be
// foreseen, so nothing branches on it; but then each step waits for the one before it. Hence the
// inputs are cut where their indices allow into a few chunks of as many entries, whose steps
// take turns, and what they wrote is closed up in the end. Of one input, beside an empty one, no
// step is left: it is copied.

#include <algorithm>
#include <cstring>

#include "kernels/host/view.hpp"

namespace sparsecoll::host {

template <class T, class I, class Passes>
class PairMerge {
 public:
  PairMerge(const View<T, I>& a, const View<T, I>& b, const Passes& passes)
      : a_(a), b_(b), passes_(passes) {}

  void run(const SparseBuffer& out) {
    index_ = static_cast<I*>(out.index);
    value_ = static_cast<T*>(out.value);
    // A chunk writes from where it would if no two indices were the same.
    const size_t all = a_.nnz + b_.nnz;
    const bool many = all >= kInterleaveFrom && all <= out.capacity;
    *out.nnz = many ? run_interleaved() : run_one({0, 0, 0}, {a_.nnz, b_.nnz, 0}).out;
  }

 private:
  static constexpr size_t kSegments = 3;         ///< more would not leave registers enough
  static constexpr size_t kInterleaveFrom = 64;  ///< entries for which cuts pay
  static constexpr size_t kFew = 4;  ///< steps that are not worth counting how many are left

  struct Position {
    size_t i, j;  ///< in a and b
    size_t out;
  };

  void step(Position& at) const {
    const I left = a_.index[at.i], right = b_.index[at.j];
    const size_t takes_left = left <= right, takes_right = right <= left;
    const T value[] = {a_.value[at.i], b_.value[at.j], a_.value[at.i] + b_.value[at.j]};
    put(at, std::min(left, right), value[takes_left + 2 * takes_right - 1]);
    at.i += takes_left;
    at.j += takes_right;
  }

  /// There is room for one that does not pass.
  void put(Position& at, I index, T sum) const {
    index_[at.out] = index;
    value_[at.out] = sum;
    at.out += passes_(sum);
  }

  Position run_one(Position at, const Position& end) const {
    while (at.i < end.i && at.j < end.j) step(at);
    for (; at.i < end.i; ++at.i) put(at, a_.index[at.i], a_.value[at.i]);
    for (; at.j < end.j; ++at.j) put(at, b_.index[at.j], b_.value[at.j]);
    return at;
  }

  /// Behind the first `entries` of both, but not between two of the same index.
  Position cut(size_t entries) const {
    size_t low = entries - std::min(entries, b_.nnz), high = std::min(entries, a_.nnz);
    while (low < high) {
      const size_t i = low + (high - low) / 2;
      if (a_.index[i] < b_.index[entries - 1 - i])
        low = i + 1;
      else
        high = i;
    }
    size_t i = low, j = entries - low;
    if (i < a_.nnz && j > 0 && b_.index[j - 1] == a_.index[i]) --j;
    return {i, j, i + j};
  }

  /// Returns how many entries were written.
  size_t run_interleaved() const {
    Position cuts[kSegments + 1], at[kSegments];
    for (size_t s = 0; s <= kSegments; ++s) cuts[s] = cut((a_.nnz + b_.nnz) * s / kSegments);
    std::copy_n(cuts, kSegments, at);
    for (size_t steps = steps_left(at, cuts); steps >= kFew; steps = steps_left(at, cuts))
      for (; steps > 0; --steps) {
        static_assert(kSegments == 3);  // by name, since not every compiler unrolls a loop
        step(at[0]);
        step(at[1]);
        step(at[2]);
      }
    size_t written = 0;
    for (size_t s = 0; s < kSegments; ++s) {
      const size_t first = cuts[s].out, n = run_one(at[s], cuts[s + 1]).out - first;
      if (first != written) {
        std::memmove(index_ + written, index_ + first, n * sizeof(I));
        std::memmove(value_ + written, value_ + first, n * sizeof(T));
      }
      written += n;
    }
    return written;
  }

  /// In so many steps no chunk can come to the end of a input.
  static size_t steps_left(const Position* at, const Position* cuts) {
    size_t least = ~size_t{0};
    for (size_t s = 0; s < kSegments; ++s)
      least = std::min({least, cuts[s + 1].i - at[s].i, cuts[s + 1].j - at[s].j});
    return least;
  }

  const View<T, I> a_, b_;
  const Passes passes_;
  I* index_ = nullptr;
  T* value_ = nullptr;
};

}  // namespace sparsecoll::host
