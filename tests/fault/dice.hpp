// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "support/data.hpp"

namespace sparsecoll::fault {

/// Numbers that a seed determines, the same on every machine.
class Dice {
 public:
  explicit Dice(uint64_t seed) : seed_(seed) {}

  /// 0 to choices - 1.
  size_t pick(size_t choices) { return static_cast<size_t>(seed() % choices); }
  bool one_in(size_t choices) { return pick(choices) == 0; }
  uint64_t seed() { return test::noise(seed_, ++thrown_); }

  template <class List>
  auto one_of(const List& list) {
    return std::begin(list)[pick(std::size(list))];
  }

 private:
  uint64_t seed_;
  uint64_t thrown_ = 0;
};

}  // namespace sparsecoll::fault
