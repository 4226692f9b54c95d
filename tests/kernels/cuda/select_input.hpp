// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Inputs for tests of selection on host and device.

#include "kernels/cuda/device_backend.hpp"
#include "kernels/naive.hpp"

namespace sparsecoll::cuda_test {

/// Values of T and their residual.
template <class T>
struct Input {
  std::vector<T> values;
  std::vector<Accumulation<T>> residual;
};

/// Makes all NaNs the same: which NaN a result has is not specified.
template <class Acc>
std::vector<Acc> plain(std::vector<Acc> values) {
  if constexpr (Integer<Acc>)
    return values;
  else
    return unit::one_nan(std::move(values));
}

template <class T>
Input<T> input_of(test::Kind kind, size_t n, uint64_t seed) {
  using Acc = Accumulation<T>;
  Input<T> input;
  for (const Acc value : unit::dense_of<Acc>(kind, n, seed))
    input.values.push_back(narrow<T>(value));
  input.residual = unit::dense_of<Acc>(test::Kind::kHeavyTail, n, seed + 1);
  return input;
}

/// Both backends, an input and the buffers of the residuals.
struct Call {
  size_t k = 0;
  bool feedback = false;
  cuda::DeviceTuning tuning = {};
  size_t offset = 1;  ///< values by which addresses are misaligned
};

}  // namespace sparsecoll::cuda_test
