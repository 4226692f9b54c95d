// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cub/block/block_scan.cuh>

#include "kernels/cuda/launch.cuh"

namespace sparsecoll::cuda {

/// A worker's share [begin, end) of n items. Shares are consecutive and as equal as possible.
struct Share {
  size_t begin;
  size_t end;
};
__device__ inline Share share_of(size_t n, size_t w, size_t workers) {
  const size_t each = n / workers, more = n % workers;
  const size_t begin = each * w + (w < more ? w : more);
  return {begin, begin + each + (w < more ? 1 : 0)};
}
/// Returns the share of this warp among all warps of the launch.
__device__ inline Share share_of_warp(size_t n) {
  return share_of(n, size_t{blockIdx.x} * kWarps + threadIdx.x / 32, size_t{gridDim.x} * kWarps);
}
/// Returns the share of this block: that of all its warps together.
__device__ inline Share share_of_block(size_t n) {
  const size_t first = size_t{blockIdx.x} * kWarps, warps = size_t{gridDim.x} * kWarps;
  return {share_of(n, first, warps).begin, share_of(n, first + kWarps - 1, warps).end};
}

/// Prefix sums over the threads of a block. All threads must call it.
template <class N>
class BlockSum {
  using Scan = cub::BlockScan<N, static_cast<int>(kThreads)>;

 public:
  using Storage = typename Scan::TempStorage;
  __device__ explicit BlockSum(Storage& storage) : storage_(storage) {}

  /// Returns the sum of `own` over the threads before this one; *all is the sum over all threads.
  /// The storage can be reused as soon as this returns.
  __device__ N before(N own, N* all) {
    N sum;
    Scan(storage_).ExclusiveSum(own, sum, *all);
    __syncthreads();
    return sum;
  }

 private:
  Storage& storage_;
};

/// Returns the sum of of_block[b] over the blocks b before `block`, to every thread.
__device__ inline uint64_t sum_before(const uint64_t* of_block, unsigned block,
                                      BlockSum<uint64_t>& sum) {
  uint64_t own = 0, all = 0;
  for (unsigned b = threadIdx.x; b < block; b += kThreads) own += of_block[b];
  sum.before(own, &all);
  return all;
}

/// Returns the first number of [low, high) for which `behind` is true, or `high` if there is none.
/// `behind` must stay true once it is true.
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

/// Returns how many of the n rising indices are below `limit`.
template <class I>
__device__ size_t lower_bound(const I* index, size_t n, uint64_t limit) {
  return first_where<size_t>(0, n, [&](size_t j) { return index[j] >= limit; });
}

/// Adds atomically and returns the previous value. Only that value depends on the order of threads.
__device__ inline uint64_t add_to(uint64_t* count, uint64_t more) {
  return atomicAdd(reinterpret_cast<unsigned long long*>(count), more);
}

/// Calls use(j, load(j)) for j = begin, begin + kStride, ... below end. kBatch loads are issued
/// before the first is used, so that the thread waits for memory once a batch. The compiler cannot
/// do this itself: it does not know that use() leaves the loaded memory alone.
template <unsigned kStride, unsigned kBatch = 4, class Load, class Use>
__device__ void in_batches(size_t begin, size_t end, const Load& load, const Use& use) {
  for (; begin < end; begin += kBatch * kStride) {
    decltype(load(begin)) loaded[kBatch]{};
    for (unsigned b = 0; b < kBatch; ++b)
      if (begin + b * kStride < end) loaded[b] = load(begin + b * kStride);
    for (unsigned b = 0; b < kBatch; ++b)
      if (begin + b * kStride < end) use(begin + b * kStride, loaded[b]);
  }
}

/// Returns how many of the n rising numbers at(j) are below `limit`. Like lower_bound(), but each
/// step compares seven numbers at once, so a search waits for memory a third as often.
template <class At>
__device__ size_t count_below(size_t n, uint64_t limit, const At& at) {
  constexpr unsigned kParts = 8;
  size_t low = 0;
  while (n >= kParts) {
    const size_t part = n / kParts;
    unsigned below = 0;  // number of parts, except the last, whose numbers are all below
    for (unsigned p = 1; p < kParts; ++p) below += at(low + p * part - 1) < limit;
    low += below * part;
    n = below + 1 < kParts ? part - 1 : n - below * part;
  }
  unsigned below = 0;
  for (unsigned j = 0; j + 1 < kParts; ++j) below += j < n && at(low + j) < limit;
  return low + below;
}

/// Returns how many of n rising indices are below `limit`.
template <class I>
__device__ size_t count_below(const I* index, size_t n, uint64_t limit) {
  return count_below(n, limit, [&](size_t j) { return uint64_t{index[j]}; });
}

}  // namespace sparsecoll::cuda
