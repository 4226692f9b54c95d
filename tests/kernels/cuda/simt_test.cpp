// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests that the emulator finds the faults that simt/engine.hpp lists: barriers and exchanges that
// some threads do not reach, and barriers that are missing.

#include <cooperative_groups.h>

#include <cstdlib>

#include "engine.hpp"
#include "kernels/cuda/simt_run.hpp"

namespace sparsecoll::cuda_test {
namespace {

// --- barriers and exchanges

__global__ void some_skip_a_barrier_and_exchange(unsigned) {
  if (threadIdx.x >= 32) __syncthreads();
  __ballot_sync(cuda::kFullWarp, 1);
  if (threadIdx.x < 32) __syncwarp();
}
__global__ void some_skip_the_first_of_two_barriers(unsigned) {
  if (threadIdx.x % 2 == 0) __syncthreads();
  __syncthreads();
}
__global__ void some_end_before_a_barrier(unsigned last) {
  if (threadIdx.x == last) return;
  __syncthreads();
}
__global__ void one_lane_skips_an_exchange(unsigned lane) {
  if (threadIdx.x != lane) __ballot_sync(cuda::kFullWarp, 1);
}
__global__ void two_exchanges_in_one_warp(unsigned lane) {
  if (threadIdx.x % 32 == lane)
    __ballot_sync(cuda::kFullWarp, 1);
  else
    __shfl_sync(cuda::kFullWarp, 1, 0);
}
__global__ void part_of_a_warp(unsigned mask) { __syncwarp(mask); }

TEST_CASE("a barrier that some threads do not reach ends the program") {
  check_found([] { run(1, some_skip_the_first_of_two_barriers, 0u); }, "ended");
  for (const unsigned last : {0u, 77u, 255u})
    check_found([=] { run(3, some_end_before_a_barrier, last); },
                " " + std::to_string(last) + " ended;");
  CHECK(ending_of([] { run(2, some_skip_a_barrier_and_exchange, 0u); }).signal == SIGABRT);
}

TEST_CASE("a warp's exchange that some lanes do not reach ends the program") {
  check_found([] { run(1, one_lane_skips_an_exchange, 40u); }, " 40 ended; 41 its warp;");
  check_found([] { run(1, two_exchanges_in_one_warp, 5u); }, "two kinds of exchange in one warp");
  check_found([] { run(1, part_of_a_warp, 0xffffu); }, "a mask that is not the whole warp");
  CHECK(ending_of([] { run(4, part_of_a_warp, cuda::kFullWarp); }).signal == 0);
}

// --- the grid

__global__ void grid_barrier(unsigned) { cooperative_groups::this_grid().sync(); }
__global__ void one_block_skips(unsigned block) {
  if (blockIdx.x != block) cooperative_groups::this_grid().sync();
}
__global__ void all_see_all(unsigned* seen) {
  if (threadIdx.x == 0) atomicAdd(seen, 1);
  cooperative_groups::this_grid().sync();
  if (threadIdx.x == 0) seen[1 + blockIdx.x] = *seen;
}

TEST_CASE("a barrier of the grid needs a cooperative launch and every block") {
  check_found([] { run(2, grid_barrier, 0u); }, "in a launch that is not cooperative");
  check_found([] { run_together(4, one_block_skips, 2u); }, "for one that ended");
  CHECK(ending_of([] { run_together(4, one_block_skips, 4u); }).signal == 0);
}

TEST_CASE("the blocks of a cooperative launch run at once, and are refused where they cannot") {
  const auto most = static_cast<unsigned>(simt::multiprocessors() * simt::kResident);
  unsigned* const seen = numbers(1 + most);
  cudaMemset(seen, 0, (1 + most) * sizeof(unsigned));
  cudaLaunchAttribute together{};
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.blockDim = dim3(64);
  config.attrs = &together;
  config.numAttrs = 1;
  config.gridDim = dim3(most + 1);
  CHECK(cudaLaunchKernelEx(&config, all_see_all, seen) == cudaErrorCooperativeLaunchTooLarge);
  config.gridDim = dim3(most);
  CHECK(cudaLaunchKernelEx(&config, all_see_all, seen) == cudaSuccess);
  CHECK(fetch(seen, 1 + most) == std::vector<unsigned>(1 + most, most));
  config.gridDim = dim3(0);
  CHECK(cudaLaunchKernelEx(&config, all_see_all, seen) == cudaErrorInvalidConfiguration);
  config = {dim3(1), dim3(1025), 0, nullptr, nullptr, 0};
  CHECK(cudaLaunchKernelEx(&config, all_see_all, seen) == cudaErrorInvalidConfiguration);
  cudaFree(seen);
}

// --- order

template <bool kBarrier>
__global__ void neighbour(unsigned* to) {
  __shared__ unsigned own[cuda::kThreads];
  own[threadIdx.x] = threadIdx.x;
  if (kBarrier) __syncthreads();
  to[threadIdx.x] = own[(threadIdx.x + 1) % cuda::kThreads];
}
template <bool kBarrier>
__global__ void next_block(unsigned* to) {
  if (threadIdx.x == 0) to[blockIdx.x] = blockIdx.x;
  if (kBarrier) cooperative_groups::this_grid().sync();
  if (threadIdx.x == 0) to[gridDim.x + blockIdx.x] = to[(blockIdx.x + 1) % gridDim.x];
}

TEST_CASE("a missing barrier shows") {
  unsigned* const device = numbers(cuda::kThreads);
  std::vector<unsigned> want(cuda::kThreads);
  for (unsigned t = 0; t < cuda::kThreads; ++t) want[t] = (t + 1) % cuda::kThreads;
  for (int r = 0; r < 10; ++r) {
    run(1, neighbour<true>, device);
    CHECK(fetch(device, cuda::kThreads) == want);
  }
  // Only the first run finds it: later the value is already in shared memory.
  run(1, neighbour<false>, device);
  CHECK(fetch(device, cuda::kThreads) != want);
  cudaFree(device);
}

TEST_CASE("a missing barrier of the grid shows") {
  unsigned* const device = numbers(8);
  const std::vector<unsigned> want{0, 1, 2, 3, 1, 2, 3, 0};
  for (int r = 0; r < 10; ++r) {
    cudaMemset(device, 0xff, 32);
    run_together(4, next_block<true>, device);
    CHECK(fetch(device, 8) == want);
  }
  // This runs in a child process, because a thread sanitizer sees the race itself and ends the
  // process.
  const Ending ending = ending_of([&] {
    for (int r = 0; r < 10; ++r) {
      cudaMemset(device, 0xff, 32);
      run(4, next_block<false>, device);
      if (fetch(device, 8) != want) std::abort();
    }
  });
  CHECK((ending.signal == SIGABRT || ending.text.find("data race") != std::string::npos));
  cudaFree(device);
}

}  // namespace
}  // namespace sparsecoll::cuda_test
