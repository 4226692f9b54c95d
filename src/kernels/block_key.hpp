// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/numeric.hpp"
#include "kernels/kernel_arguments.hpp"

namespace sparsecoll {

/// The keys of blocks. They have one key more than those of double, for blocks whose squares all
/// underflow.
inline constexpr KeySpace kBlockKeys{kKeyEnd<double> + 1, 52, true};

/// The key of a block, of whose values all were added in their order: 0 if they are all zeros, and
/// 1 if all their squares underflow. Rises with the sum of the squares, which is formed in double.
/// A NaN gives the largest key.
class BlockKey {
 public:
  template <class T>
  constexpr void add(T value) {
    const auto wide = static_cast<double>(value);
    sum_ += wide * wide;
    any_ |= wide != 0;
  }
  constexpr uint64_t get() const { return key_of(sum_) + any_; }

 private:
  double sum_ = 0;
  bool any_ = false;
};

}  // namespace sparsecoll
