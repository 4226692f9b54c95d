// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace sparsecoll::perf {

/// The gradients of successive calls: the first is a given vector, each other one the vector that
/// begins kStep values later, its end followed by its beginning. After kNumber calls they repeat.
/// All ranks rotate alike, so that what they have in common stays so. If all calls had the same
/// gradient, the residuals of equal values would stay equal, and entries that cancel would pile up.
template <class T>
class Gradients {
 public:
  static constexpr std::size_t kStep = 64;  ///< keeps the alignment of a cache line
  static constexpr std::size_t kNumber = 256;

  /// Returns the vector and the values that follow it in the last gradient.
  static std::vector<T> unrolled(std::span<const T> vector) {
    std::vector<T> all(vector.begin(), vector.end());
    if (vector.empty()) return all;
    all.reserve(vector.size() + (kNumber - 1) * kStep);
    for (std::size_t i = 0; i < (kNumber - 1) * kStep; ++i)
      all.push_back(vector[i % vector.size()]);
    return all;
  }

  /// Goes to the gradient of the next call. The first after reset() has the vector itself.
  void advance() { offset_ = kStep * (calls_++ % kNumber); }
  void reset() { offset_ = calls_ = 0; }
  /// Returns where the gradient begins in the unrolled vector.
  std::size_t offset() const { return offset_; }

 private:
  std::size_t calls_ = 0;
  std::size_t offset_ = 0;
};

}  // namespace sparsecoll::perf
