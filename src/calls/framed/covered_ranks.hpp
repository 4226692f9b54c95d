// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "calls/framed/frame.hpp"
#include "core/arena.hpp"

namespace sparsecoll {

/// The ranks that are known, directly or through others, to have made a call with the same
/// arguments.
class CoveredRanks {
 public:
  /// Makes a set in which only `own` is covered. Its memory lives in the arena's current scope.
  CoveredRanks(int own, int ranks, Arena& arena);

  void add(int rank);
  /// Adds the ranks that the sender of a frame reports as covered.
  void add_from(const FrameHeader& header);
  /// Puts the largest cyclic range of covered ranks around this one into a header. A range is
  /// enough, because the ranks whose data an algorithm passes on form one.
  void put_range(FrameHeader& header);

  int count() const { return count_; }
  bool all() const { return count_ == static_cast<int>(covered_.size()); }
  /// Returns the ranks that are not covered, and those in `absent`.
  std::vector<int> missing(std::span<const int> absent) const;

 private:
  void add_range(size_t first, size_t count);

  int count_ = 0;
  // The largest cyclic range that put_range() has found, which only grows: many messages carry it.
  int first_;       ///< its first rank, or that minus P
  int around_ = 1;  ///< its number of ranks
  std::span<bool> covered_;
};

}  // namespace sparsecoll
