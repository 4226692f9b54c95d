// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "api/arguments.hpp"

namespace sparsecoll {

/// The argument `bounds` of a verb: who owns which indices. Read when the call is made, so that the
/// caller's array is free again when the function returns, whenever the verb runs.
class Bounds {
 public:
  /// `bounds` are P + 1 borders; NULL: floor(r * count / P).
  Bounds(const size_t* bounds, sparsecollComm_t comm) noexcept;

  /// Throws InvalidArgument unless they rise from 0 to `count`.
  void check(uint64_t count) const;
  /// Puts what the ranks must agree on into the descriptor of a call of length `count`.
  void describe(uint64_t count, Descriptor& descriptor) const;
  /// The caller's array.
  ByteRange byte_range() const { return {"bounds", given_, given_ ? size() * sizeof(size_t) : 0}; }
  /// One region for each rank.
  std::span<const Region> regions(uint64_t count, Env& env) const;

 private:
  size_t size() const { return ranks_ + 1; }
  uint64_t at(size_t r, uint64_t count) const;

  const size_t* given_;
  size_t ranks_ = 1;
  std::vector<uint64_t> copy_;  ///< empty: uniform regions, or could not be read
  bool readable_ = true;
  bool out_of_memory_ = false;
};

}  // namespace sparsecoll
