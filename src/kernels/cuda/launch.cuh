// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "kernels/cuda/backend.hpp"

namespace sparsecoll::cuda {

/// The number of threads of a block, unless a kernel has its own.
inline constexpr unsigned kThreads = 256;
inline constexpr unsigned kWarps = kThreads / 32;
inline constexpr unsigned kFullWarp = 0xffffffffu;

/// Number of blocks that fit on a multiprocessor at once. Kernels whose blocks wait for each other
/// are compiled with __launch_bounds__(kThreads, kResidentBlocks) and use at most 16 KiB of shared
/// memory.
inline constexpr unsigned kResidentBlocks = 3;
/// Number of blocks that fit on a multiprocessor at once if their kernel needs half as many
/// registers. The bound also keeps the assembler from spilling registers to fit even more blocks.
inline constexpr unsigned kResidentLightBlocks = 2 * kResidentBlocks;

template <class... Parameters, class... Arguments>
void launch_as(const cudaLaunchConfig_t& config, void (*kernel)(Parameters...),
               Arguments&&... arguments) {
  check(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...),
        "launch of a kernel");
}

/// Queues a launch of `blocks` blocks, at least one.
template <class... Parameters, class... Arguments>
void launch(const Backend& backend, size_t blocks, void (*kernel)(Parameters...),
            Arguments&&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(std::max<size_t>(blocks, 1)));
  config.blockDim = dim3(kThreads);
  config.stream = backend.stream();
  launch_as(config, kernel, std::forward<Arguments>(arguments)...);
}

/// Returns the number of blocks for n items at `per_block` each, at most as many as run at once.
inline size_t blocks_for(const Backend& backend, size_t n, size_t per_block) {
  return std::min<size_t>(n / per_block + 1, size_t{kResidentBlocks} * backend.multiprocessors());
}

/// Returns the number of light blocks for n items. Twice as many light blocks run at once.
inline size_t light_blocks_for(const Backend& backend, size_t n, size_t per_block) {
  return kResidentLightBlocks / kResidentBlocks * blocks_for(backend, n, per_block);
}

/// Queues a cooperative launch, whose blocks may wait for each other
/// (cooperative_groups::this_grid().sync()). It has at most as many blocks as run at once.
template <class... Parameters, class... Arguments>
void launch_cooperative(const Backend& backend, size_t blocks, void (*kernel)(Parameters...),
                        Arguments&&... arguments) {
  cudaLaunchAttribute together{};
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(std::min<size_t>(
      std::max<size_t>(blocks, 1), size_t{kResidentBlocks} * backend.multiprocessors())));
  config.blockDim = dim3(kThreads);
  config.stream = backend.stream();
  config.attrs = &together;
  config.numAttrs = 1;
  launch_as(config, kernel, std::forward<Arguments>(arguments)...);
}

/// A number of items that the host may not know: *at on the device, or `bound` if `at` is null.
struct Length {
  const uint64_t* at;
  size_t bound;
  __device__ size_t get() const { return at ? *at : bound; }
};

template <class Body>
__global__ void __launch_bounds__(kThreads) each(Length length, Body body) {
  const size_t n = length.get();
  for (size_t i = size_t{blockIdx.x} * kThreads + threadIdx.x; i < n;
       i += size_t{gridDim.x} * kThreads)
    body(i);
}

/// Returns the number of blocks for light work on n items: as many as fit at once, or fewer if
/// threads would have fewer than four items each.
inline size_t blocks_of_items(const Backend& backend, size_t n) {
  constexpr size_t kFull = 2048 / kThreads;
  return std::min(n / (4 * kThreads) + 1, kFull * backend.multiprocessors());
}

/// Calls body(i) for every i below the length, in any order and in parallel.
template <class Body>
void for_each(const Backend& backend, const Length& length, const Body& body) {
  launch(backend, blocks_of_items(backend, length.bound), each<Body>, length, body);
}

/// An array that is passed in the parameters of a launch, which hold 4 KB.
template <class Row>
struct ParameterArray {
  static constexpr size_t kCapacity = 3840 / sizeof(Row);
  Row row[kCapacity];
};

template <class Row>
__global__ void __launch_bounds__(kThreads)
    store_array(ParameterArray<Row> rows, size_t n, Row* to) {
  for (size_t j = threadIdx.x; j < n; j += kThreads) to[j] = rows.row[j];
}

/// Returns the array make(0), ..., make(n - 1) in the backend's workspace. The elements are in
/// launch parameters, so the host's memory is free at once and a captured graph keeps them.
template <class Row, class Make>
const Row* upload_array(Backend& backend, size_t n, const Make& make) {
  Row* const all = backend.arena().take<Row>(n);
  for (size_t done = 0; done < n;) {
    ParameterArray<Row> rows{};
    const size_t part = std::min(n - done, ParameterArray<Row>::kCapacity);
    for (size_t j = 0; j < part; ++j) rows.row[j] = make(done + j);
    launch(backend, 1, store_array<Row>, rows, part, all + done);
    done += part;
  }
  return all;
}

}  // namespace sparsecoll::cuda
