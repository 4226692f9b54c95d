// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs one block on the emulator: one input and one output value for every thread.

#include <vector>

#include "kernels/cuda/launch.cuh"
#include "support/data.hpp"

namespace sparsecoll::cuda_test {

inline constexpr unsigned kThreads = cuda::kThreads;

/// Returns the outputs of all threads of a block.
template <class Out, class In>
std::vector<Out> of_block(void (*kernel)(const In*, Out*), const std::vector<In>& in) {
  void *from = nullptr, *to = nullptr;
  cudaMalloc(&from, kThreads * sizeof(In));
  cudaMalloc(&to, kThreads * sizeof(Out));
  cudaMemcpy(from, in.data(), kThreads * sizeof(In), cudaMemcpyHostToDevice);
  const cuda::Backend backend(nullptr);
  cuda::launch(backend, 1, kernel, static_cast<const In*>(from), static_cast<Out*>(to));
  std::vector<Out> out(kThreads);
  cudaMemcpy(out.data(), to, kThreads * sizeof(Out), cudaMemcpyDeviceToHost);
  cudaFree(from);
  cudaFree(to);
  return out;
}

template <class V>
std::vector<V> some(uint64_t seed, uint64_t below) {
  std::vector<V> values;
  for (unsigned t = 0; t < kThreads; ++t)
    values.push_back(static_cast<V>(test::noise(seed, t) % below) - static_cast<V>(below / 2));
  return values;
}

/// Computes the expected output of every thread from the values of its warp and its lane.
template <class Out, class In, class Of>
std::vector<Out> of_warps(const std::vector<In>& in, const Of& of) {
  std::vector<Out> out;
  for (unsigned t = 0; t < kThreads; ++t) out.push_back(of(&in[t / 32 * 32], t % 32));
  return out;
}

}  // namespace sparsecoll::cuda_test
