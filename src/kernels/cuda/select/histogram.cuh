// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Counts of entries by key and by index, and the least key: one launch each that reads every value
// or index once. All sums are of integers, so that the order of the atomics shows nowhere.

#include "kernels/cuda/select/threshold.cuh"
#include "kernels/cuda/view.cuh"

namespace sparsecoll::cuda {

/// *least = the smallest key, or 0 where there is none; all ones before.
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
  if (n == 0) own = 0;  // all blocks say so
  atomicMin(reinterpret_cast<unsigned long long*>(least), static_cast<unsigned long long>(own));
}

template <class Acc, class I>
void least_key(Backend& backend, const View<Acc, I>& in, uint64_t* key) {
  check(cudaMemsetAsync(key, 0xff, sizeof *key, backend.stream()), "cudaMemsetAsync");
  launch(backend, blocks_for(backend, in.nnz.bound, 8 * kThreads), find_least_key<Acc>, in.value,
         in.nnz, key);
}

// --- by key

/// So many counters of a block fit into shared memory.
inline constexpr size_t kSharedBins = 8192;

/// The bin of a key, which may be none.
struct BinOf {
  KeyBins bins;
  __device__ bool counts(uint64_t key) const { return key >= bins.begin; }
  __device__ uint64_t operator()(uint64_t key) const {
    return counts(key) ? std::min<uint64_t>((key - bins.begin) >> bins.shift, bins.bins) : 0;
  }
};

/// Every block counts for itself what it reads, and adds that to the bins.
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
    const uint64_t key = j < n ? key_of(value[j]) : 0;  // which no bin holds
    count_digit(own, bin_of.counts(key), static_cast<unsigned>(bin_of(key)));
  }
  __syncthreads();
  for (unsigned b = threadIdx.x; b < bins; b += kThreads)
    if (own[b] != 0) add_to(&bin[b], own[b]);
}

/// For more bins than a block has room for. Of the threads of a warp with one bin, one adds.
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

/// Adds to the bins.
template <class Acc, class I>
void key_histogram(Backend& backend, const View<Acc, I>& in, const KeyBins& bins, uint64_t* bin) {
  const BinOf bin_of{bins};
  if (bins.bins < kSharedBins) {
    // A block that clears and adds up all counters should have at least as much to count.
    const size_t each = std::max<size_t>(8 * kThreads, bins.bins);
    launch(backend, blocks_for(backend, in.nnz.bound, each), count_in_blocks<Acc>, in.value, in.nnz,
           bin_of, bin);
  } else {
    launch(backend, blocks_for(backend, in.nnz.bound, 8 * kThreads), count_at_once<Acc>, in.value,
           in.nnz, bin_of, bin);
  }
}

// --- by index

/// As indices rise, the entries of a bin are one run. Every warp takes rows of 32 entries: a run
/// inside a row is added by its length; of one that goes on, its row adds minus the position of its
/// start and another row the position of its end. So every bin is touched a few times at most,
/// however long its run is.
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
    const unsigned start = 32 - __clz(all_starts & (kFullWarp >> (31 - lane)));  // 0: none
    if (ends) add_to(&bin[b], start != 0 ? lane + 2 - start : j + 1);
    if (starts && all_ends >> lane == 0) add_to(&bin[b], uint64_t{0} - j);
  }
}

/// Adds to the bins.
template <class Acc, class I>
void index_histogram(Backend& backend, const View<Acc, I>& in, uint64_t width, uint64_t* bin) {
  launch(backend, blocks_for(backend, in.nnz.bound, 8 * kThreads), count_indices<Acc, I>, in, width,
         bin);
}

}  // namespace sparsecoll::cuda
