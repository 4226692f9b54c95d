// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sum of two sparse inputs. Every step takes the lower of the next two indices. Which one that is
// cannot be predicted, so that the loop does not branch on it; but then each step waits for the one
// before it. Therefore the inputs are cut into a few chunks of equally many entries, at indices
// that allow it. The steps of the chunks alternate, and the results are moved together at the end.
// If one input is empty, the other one is copied.

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
    // A chunk writes to the position at which its sums would begin if all indices were distinct.
    const size_t all = a_.nnz + b_.nnz;
    const bool many = all >= kInterleaveFrom && all <= out.capacity;
    *out.nnz = many ? run_interleaved() : run_one({0, 0, 0}, {a_.nnz, b_.nnz, 0}).out;
  }

 private:
  static constexpr size_t kSegments = 3;         ///< more would need too many registers
  static constexpr size_t kInterleaveFrom = 64;  ///< number of entries from which cuts pay
  static constexpr size_t kFew = 4;  ///< with at most this many steps left, the loop is not
                                     ///< interleaved

  struct Position {
    size_t i, j;  ///< positions in a and b
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

  /// Writes the entry, also if it does not pass: the next one then overwrites it.
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

  /// Returns a cut behind about `entries` entries of both, but not between two entries of one
  /// index.
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

  /// Returns the number of written entries.
  size_t run_interleaved() const {
    Position cuts[kSegments + 1], at[kSegments];
    for (size_t s = 0; s <= kSegments; ++s) cuts[s] = cut((a_.nnz + b_.nnz) * s / kSegments);
    std::copy_n(cuts, kSegments, at);
    for (size_t steps = steps_left(at, cuts); steps >= kFew; steps = steps_left(at, cuts))
      for (; steps > 0; --steps) {
        static_assert(kSegments == 3);  // unrolled by hand, since not every compiler unrolls a loop
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

  /// Returns a number of steps in which no chunk can reach the end of an input.
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
