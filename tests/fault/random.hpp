// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "support/data.hpp"

namespace sparsecoll::fault {

/// A generator of random numbers. Equal seeds give equal numbers on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : seed_(seed) {}

  /// Returns a number from 0 to choices - 1.
  size_t below(size_t choices) { return static_cast<size_t>(seed() % choices); }
  bool one_in(size_t choices) { return below(choices) == 0; }
  uint64_t seed() { return test::noise(seed_, ++drawn_); }

  template <class List>
  auto pick(const List& list) {
    return std::begin(list)[below(std::size(list))];
  }

 private:
  uint64_t seed_;
  uint64_t drawn_ = 0;
};

}  // namespace sparsecoll::fault
