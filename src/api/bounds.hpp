// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "api/arguments.hpp"

namespace sparsecoll {

/// The argument `bounds` of a verb: which rank owns which indices. It is copied when the user
/// calls, so that the caller may reuse the array when the function returns, even if the verb runs
/// later.
class Bounds {
 public:
  /// `bounds` has P + 1 elements. NULL stands for floor(r * count / P).
  Bounds(const size_t* bounds, sparsecollComm_t comm) noexcept;

  /// Throws InvalidArgument unless the bounds rise from 0 to `count`.
  void check(uint64_t count) const;
  /// Puts the bounds into the descriptor of a call of length `count`.
  void describe(uint64_t count, Descriptor& descriptor) const;
  /// Returns the caller's array.
  ByteRange byte_range() const { return {"bounds", given_, given_ ? size() * sizeof(size_t) : 0}; }
  /// Returns the region of a rank.
  Region region(int rank, uint64_t count) const {
    const auto r = static_cast<size_t>(rank);
    return {at(r, count), at(r + 1, count)};
  }
  /// Returns one region for each rank.
  std::span<const Region> regions(uint64_t count, Env& env) const;

 private:
  size_t size() const { return ranks_ + 1; }
  uint64_t at(size_t r, uint64_t count) const;

  const size_t* given_;
  size_t ranks_ = 1;
  std::vector<uint64_t> copy_;  ///< empty: uniform regions, or the array could not be read
  bool readable_ = true;
  bool out_of_memory_ = false;
};

}  // namespace sparsecoll
