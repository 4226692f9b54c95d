// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace train {

/// Seeded random numbers that are the same with every standard library. The C++ standard defines
/// the output of the generator, but not that of the distributions of <random>, which are not used.
class Random {
 public:
  /// Makes the sequence number `stream` of a seed. Sequence 0 initializes weights; sequence e
  /// shuffles the images of epoch e.
  Random(std::uint64_t seed, std::uint64_t stream)
      : generator_(seed * 0x9E3779B97F4A7C15u + stream) {}

  /// Returns a number that is uniform in [-limit, limit).
  float symmetric(float limit) {
    const double unit = static_cast<double>(generator_() >> 11) * 0x1.0p-53;
    return static_cast<float>((2.0 * unit - 1.0) * limit);
  }

  /// Returns 0 .. count-1 in random order (Fisher-Yates). The remainder has a bias, below 2^-51 for
  /// a few thousand images, which does not matter here.
  std::vector<std::size_t> permutation(std::size_t count) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t left = count; left > 1; --left) {
      std::swap(order[left - 1], order[static_cast<std::size_t>(generator_() % left)]);
    }
    return order;
  }

 private:
  std::mt19937_64 generator_;
};

}  // namespace train
