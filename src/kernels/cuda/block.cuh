// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cub/block/block_scan.cuh>

#include "kernels/cuda/launch.cuh"

namespace sparsecoll::cuda {

/// Consecutive items [begin, end) of n: the share of worker w of so many, as equal as can be.
struct Share {
  size_t begin;
  size_t end;
};
__device__ inline Share share_of(size_t n, size_t w, size_t workers) {
  const size_t each = n / workers, more = n % workers;
  const size_t begin = each * w + (w < more ? w : more);
  return {begin, begin + each + (w < more ? 1 : 0)};
}
/// Of this warp of all warps of the launch.
__device__ inline Share share_of_warp(size_t n) {
  return share_of(n, size_t{blockIdx.x} * kWarps + threadIdx.x / 32, size_t{gridDim.x} * kWarps);
}
/// Of all warps of this block.
__device__ inline Share share_of_block(size_t n) {
  const size_t first = size_t{blockIdx.x} * kWarps, warps = size_t{gridDim.x} * kWarps;
  return {share_of(n, first, warps).begin, share_of(n, first + kWarps - 1, warps).end};
}

/// Sums over the threads of a block, which all call.
template <class N>
class BlockSum {
  using Scan = cub::BlockScan<N, static_cast<int>(kThreads)>;

 public:
  using Storage = typename Scan::TempStorage;
  __device__ explicit BlockSum(Storage& storage) : storage_(storage) {}

  /// What the threads before this one have; *all: what all have. The storage may be used again at
  /// once.
  __device__ N before(N own, N* all) {
    N sum;
    Scan(storage_).ExclusiveSum(own, sum, *all);
    __syncthreads();
    return sum;
  }

 private:
  Storage& storage_;
};

/// The sum of what the blocks before this one have; every thread gets it. One pass over blocks[].
__device__ inline uint64_t sum_before(const uint64_t* of_block, unsigned block,
                                      BlockSum<uint64_t>& sum) {
  uint64_t own = 0, all = 0;
  for (unsigned b = threadIdx.x; b < block; b += kThreads) own += of_block[b];
  sum.before(own, &all);
  return all;
}

/// The first number of [low, high) that `behind` is true for, as it is for all after it; else high.
template <class N, class Behind>
__device__ N first_where(N low, N high, const Behind& behind) {
  while (low < high) {
    const N middle = low + (high - low) / 2;
    if (behind(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/// How many of the n rising indices are below `limit`.
template <class I>
__device__ size_t lower_bound(const I* index, size_t n, uint64_t limit) {
  return first_where<size_t>(0, n, [&](size_t j) { return index[j] >= limit; });
}

/// Returns what it was. The order in which threads add shows nowhere but there.
__device__ inline uint64_t add_to(uint64_t* count, uint64_t more) {
  return atomicAdd(reinterpret_cast<unsigned long long*>(count), more);
}

}  // namespace sparsecoll::cuda
