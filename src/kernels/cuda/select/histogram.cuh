// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Histograms of entries by key and by index, and the smallest key. Each is one launch that reads
// every value or index once. All sums are of integers, so the order of the atomic operations does
// not affect the result.

#include "kernels/cuda/select/threshold.cuh"
#include "kernels/cuda/view.cuh"

namespace sparsecoll::cuda {

/// Sets *least to the smallest key, or to 0 if there are no values. *least holds all ones before.
template <class Acc>
__global__ void __launch_bounds__(kThreads)
    find_least_key(const Acc* value, Length length, uint64_t* least) {
  __shared__ uint64_t of_warp[kWarps];
  const size_t n = length.get();
  uint64_t own = ~uint64_t{0};
  for (size_t j = size_t{blockIdx.x} * kThreads + threadIdx.x; j < n;
       j += size_t{gridDim.x} * kThreads)
    own = std::min<uint64_t>(own, key_of(value[j]));
  for (int step = 16; step > 0; step /= 2)
    own = std::min<uint64_t>(own, __shfl_xor_sync(kFullWarp, own, step));
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = own;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (const uint64_t other : of_warp) own = std::min(own, other);
  if (n == 0) own = 0;  // every block writes the same
  atomicMin(reinterpret_cast<unsigned long long*>(least), static_cast<unsigned long long>(own));
}

template <class Acc, class I>
void least_key(Backend& backend, const View<Acc, I>& in, uint64_t* key) {
  check(cudaMemsetAsync(key, 0xff, sizeof *key, backend.stream()), "cudaMemsetAsync");
  launch(backend, blocks_for(backend, in.nnz.bound, 8 * kThreads), find_least_key<Acc>, in.value,
         in.nnz, key);
}

// --- by key

/// Counters of one block that fit into shared memory.
inline constexpr size_t kSharedBins = 8192;

/// Maps a key to its bin. Keys below the first bin are not counted.
struct BinOf {
  KeyBins bins;
  __device__ bool counts(uint64_t key) const { return key >= bins.begin; }
  __device__ uint64_t operator()(uint64_t key) const {
    return counts(key) ? std::min<uint64_t>((key - bins.begin) >> bins.shift, bins.bins) : 0;
  }
};

/// Counts in shared memory, block by block; each block then adds its counts to the bins.
template <class Acc>
__global__ void __launch_bounds__(kThreads)
    count_in_blocks(const Acc* value, Length length, BinOf bin_of, uint64_t* bin) {
  __shared__ unsigned own[kSharedBins];
  const size_t n = length.get();
  const unsigned bins = static_cast<unsigned>(bin_of.bins.bins) + 1;
  for (unsigned b = threadIdx.x; b < bins; b += kThreads) own[b] = 0;
  __syncthreads();
  for (size_t row = size_t{blockIdx.x} * kThreads; row < n; row += size_t{gridDim.x} * kThreads) {
    const size_t j = row + threadIdx.x;
    const uint64_t key = j < n ? key_of(value[j]) : 0;  // a key that no bin counts
    count_digit(own, bin_of.counts(key), static_cast<unsigned>(bin_of(key)));
  }
  __syncthreads();
  for (unsigned b = threadIdx.x; b < bins; b += kThreads)
    if (own[b] != 0) add_to(&bin[b], own[b]);
}

/// Counts in global memory, for more bins than shared memory holds. One lane adds for all lanes of
/// the warp that have the same bin.
template <class Acc>
__global__ void __launch_bounds__(kThreads)
    count_at_once(const Acc* value, Length length, BinOf bin_of, uint64_t* bin) {
  const size_t n = length.get();
  for (size_t row = size_t{blockIdx.x} * kThreads; row < n; row += size_t{gridDim.x} * kThreads) {
    const size_t j = row + threadIdx.x;
    const uint64_t key = j < n ? key_of(value[j]) : 0;
    const bool counts = bin_of.counts(key);
    const uint64_t b = bin_of(key);
    const unsigned all = __ballot_sync(kFullWarp, counts);
    const unsigned same = __match_any_sync(kFullWarp, static_cast<unsigned long long>(b)) & all;
    if (counts && __ffs(same) == static_cast<int>(threadIdx.x % 32) + 1)
      add_to(&bin[b], __popc(same));
  }
}

/// Adds the histogram of keys to `bin`.
template <class Acc, class I>
void key_histogram(Backend& backend, const View<Acc, I>& in, const KeyBins& bins, uint64_t* bin) {
  const BinOf bin_of{bins};
  if (bins.bins < kSharedBins) {
    // A block clears and adds up all its counters, so it gets at least as many values to count.
    const size_t each = std::max<size_t>(8 * kThreads, bins.bins);
    launch(backend, blocks_for(backend, in.nnz.bound, each), count_in_blocks<Acc>, in.value, in.nnz,
           bin_of, bin);
  } else {
    launch(backend, blocks_for(backend, in.nnz.bound, 8 * kThreads), count_at_once<Acc>, in.value,
           in.nnz, bin_of, bin);
  }
}

// --- by index

/// Counts runs: indices rise, so the entries of a bin are consecutive. Every warp takes rows of 32
/// entries. A run that lies in one row adds its length. A run across several rows adds the position
/// of its end in its last row and subtracts the position of its start in its first. So each bin
/// gets at most a few additions, however long its run is.
template <class Acc, class I>
__global__ void __launch_bounds__(kThreads)
    count_indices(View<Acc, I> in, uint64_t width, uint64_t* bin) {
  const size_t n = in.nnz.get();
  const unsigned lane = threadIdx.x % 32;
  for (size_t row = size_t{blockIdx.x} * kThreads + threadIdx.x - lane; row < n;
       row += size_t{gridDim.x} * kThreads) {
    const size_t j = row + lane;
    const bool valid = j < n;
    const uint64_t b = valid ? in.at(j) / width : 0, begin = b * width;
    const bool starts = valid && (j == 0 || in.at(j - 1) < begin);
    const bool ends = valid && (j + 1 == n || in.at(j + 1) - begin >= width);
    const unsigned all_starts = __ballot_sync(kFullWarp, starts);
    const unsigned all_ends = __ballot_sync(kFullWarp, ends);
    // 0: no run starts at or before this lane
    const unsigned start = 32 - __clz(all_starts & (kFullWarp >> (31 - lane)));
    if (ends) add_to(&bin[b], start != 0 ? lane + 2 - start : j + 1);
    if (starts && all_ends >> lane == 0) add_to(&bin[b], uint64_t{0} - j);
  }
}

/// Adds the histogram of indices to `bin`.
template <class Acc, class I>
void index_histogram(Backend& backend, const View<Acc, I>& in, uint64_t width, uint64_t* bin) {
  launch(backend, blocks_for(backend, in.nnz.bound, 8 * kThreads), count_indices<Acc, I>, in, width,
         bin);
}

}  // namespace sparsecoll::cuda
