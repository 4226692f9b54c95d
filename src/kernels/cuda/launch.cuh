// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "kernels/cuda/backend.hpp"

namespace sparsecoll::cuda {

/// Threads of every block, unless a kernel says otherwise.
inline constexpr unsigned kThreads = 256;
inline constexpr unsigned kWarps = kThreads / 32;
inline constexpr unsigned kFullWarp = 0xffffffffu;

/// So many blocks of kThreads fit on a multiprocessor at once: kernels whose blocks wait for each
/// other are compiled with __launch_bounds__(kThreads, kResident) and 16 KiB of shared memory at
/// most.
inline constexpr unsigned kResident = 3;
/// Of blocks with half as many registers. Where the assembler would save more of them for even more
/// blocks, and spill, their kernels are compiled with this number.
inline constexpr unsigned kResidentLight = 2 * kResident;

template <class... Parameters, class... Arguments>
void launch_as(const cudaLaunchConfig_t& config, void (*kernel)(Parameters...),
               Arguments&&... arguments) {
  check(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...),
        "launch of a kernel");
}

/// Queues `blocks` blocks (at least one).
template <class... Parameters, class... Arguments>
void launch(const Backend& backend, size_t blocks, void (*kernel)(Parameters...),
            Arguments&&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(std::max<size_t>(blocks, 1)));
  config.blockDim = dim3(kThreads);
  config.stream = backend.stream();
  launch_as(config, kernel, std::forward<Arguments>(arguments)...);
}

/// As many blocks as n items deserve at `per_block` each, but no more than run at once.
inline size_t blocks_for(const Backend& backend, size_t n, size_t per_block) {
  return std::min<size_t>(n / per_block + 1, size_t{kResident} * backend.multiprocessors());
}

/// Likewise for light blocks: twice as many of them.
inline size_t light_blocks_for(const Backend& backend, size_t n, size_t per_block) {
  return kResidentLight / kResident * blocks_for(backend, n, per_block);
}

/// Queues blocks that wait for each other (cooperative_groups::this_grid().sync()), at most as many
/// as run at once.
template <class... Parameters, class... Arguments>
void launch_together(const Backend& backend, size_t blocks, void (*kernel)(Parameters...),
                     Arguments&&... arguments) {
  cudaLaunchAttribute together{};
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(std::min<size_t>(
      std::max<size_t>(blocks, 1), size_t{kResident} * backend.multiprocessors())));
  config.blockDim = dim3(kThreads);
  config.stream = backend.stream();
  config.attrs = &together;
  config.numAttrs = 1;
  launch_as(config, kernel, std::forward<Arguments>(arguments)...);
}

/// A number of items, known to the device at last: `at`, or `bound` where that is null.
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

/// For work on n items without registers to speak of: as many blocks as fit at once, or fewer where
/// threads would have less than four items.
inline size_t blocks_of_items(const Backend& backend, size_t n) {
  constexpr size_t kFull = 2048 / kThreads;
  return std::min(n / (4 * kThreads) + 1, kFull * backend.multiprocessors());
}

/// body(i) for every i below the length, in any order, all at once.
template <class Body>
void for_each(const Backend& backend, const Length& length, const Body& body) {
  launch(backend, blocks_of_items(backend, length.bound), each<Body>, length, body);
}

}  // namespace sparsecoll::cuda
