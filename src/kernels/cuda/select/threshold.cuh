// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The threshold that the k largest keys pass, found by all blocks of a cooperative launch, digit by
// digit from the top:
//
// 1. Every block counts, among its own keys that share the digits found so far, how often each
//    value of the next digit occurs, in shared memory, and adds that to the launch's counts.
// 2. When all have, every block picks the digit of the k-th key, each for itself.
// 3. Until the last digit, or until everything with these digits passes: a few rounds at most.
//
// Every round reads the keys once; nothing depends on the order in which blocks run.

#include <cooperative_groups.h>

#include <bit>

#include "core/numeric.hpp"
#include "kernels/cuda/block.cuh"
#include "kernels/kernels.hpp"

namespace sparsecoll::cuda {

inline constexpr int kDigit = 11;  ///< bits of a key that one round looks at
inline constexpr unsigned kBins = 1u << kDigit;

/// Bits of the largest key.
template <class Value>
inline constexpr int kKeyBits = std::bit_width(kKeyEnd<Value> - 1);

inline constexpr int kMostRounds = (64 + kDigit - 1) / kDigit;

/// Counts of one search, all zero before it. In device memory.
struct Digits {
  uint64_t bin[kMostRounds][kBins];
};

/// What a block needs in shared memory for it.
struct ThresholdStorage {
  unsigned own[kBins];
  BlockSum<uint64_t>::Storage sum;
  uint64_t digit;
  uint64_t missing;
  uint64_t inside;  ///< keys with the digits found so far
};

/// Counts the digit of one key per thread. Where a warp has only one digit, as in a vector of equal
/// values, its threads do not queue for one counter.
__device__ inline void count_digit(unsigned* own, bool counts, unsigned digit) {
  const unsigned first = __shfl_sync(kFullWarp, digit, 0);
  if (__all_sync(kFullWarp, counts && digit == first)) {
    if (threadIdx.x % 32 == 0) atomicAdd(&own[digit], 32u);
  } else if (counts) {
    atomicAdd(&own[digit], 1u);
  }
}

/// Leaves in `storage` the largest digit that `missing` keys reach or, where there are fewer, 0.
__device__ inline void pick_digit(const uint64_t* bin, uint64_t missing,
                                  ThresholdStorage& storage) {
  constexpr unsigned kEach = kBins / kThreads;
  const unsigned top = kBins - 1 - threadIdx.x * kEach;
  uint64_t own[kEach], sum = 0, all = 0;
  for (unsigned b = 0; b < kEach; ++b) sum += own[b] = bin[top - b];
  uint64_t above = BlockSum<uint64_t>(storage.sum).before(sum, &all);
  for (unsigned b = 0; b < kEach && above < missing; ++b) {
    if (above + own[b] >= missing || top - b == 0) {
      storage.digit = top - b;
      storage.missing = missing - above;
      storage.inside = own[b];
      break;
    }
    above += own[b];
  }
  __syncthreads();
}

/// The threshold of `k` among the keys below kKeyEnd<Value>. Keys: `size()` items of this block,
/// key(j) for j below it. Called by all threads of all blocks.
template <class Value, class Keys>
__device__ Threshold find_threshold(const Keys& keys, uint64_t k, Digits* digits,
                                    ThresholdStorage& storage) {
  if (k == 0) return {kKeyEnd<Value>, 0};
  uint64_t prefix = 0, missing = k;
  int round = 0;
  for (int high = kKeyBits<Value>; high > 0; ++round) {
    const int shift = high > kDigit ? high - kDigit : 0;
    const uint64_t mask = (uint64_t{1} << (high - shift)) - 1;
    for (unsigned b = threadIdx.x; b < kBins; b += kThreads) storage.own[b] = 0;
    __syncthreads();
    const size_t n = keys.size();
    for (size_t begin = 0; begin < n; begin += kThreads) {
      const size_t j = begin + threadIdx.x;
      const uint64_t rest = j < n ? keys.key(j) >> shift : 0;  // `high` may be all 64 bits
      count_digit(storage.own, j < n && rest >> (high - shift) == prefix,
                  static_cast<unsigned>(rest & mask));
    }
    __syncthreads();
    uint64_t* const bin = digits->bin[round];
    for (unsigned b = threadIdx.x; b < kBins; b += kThreads)
      if (storage.own[b] != 0) add_to(&bin[b], storage.own[b]);
    cooperative_groups::this_grid().sync();
    pick_digit(bin, missing, storage);
    prefix = prefix << (high - shift) | storage.digit;
    missing = storage.missing;
    high = shift;
    const bool all_pass = storage.inside <= missing;
    __syncthreads();  // before the next round's counts
    if (all_pass) {
      const uint64_t lowest = prefix << shift;
      return {lowest == 0 ? 0 : lowest - 1, 0};
    }
  }
  return prefix == 0 ? Threshold{0, 0} : Threshold{prefix, missing};
}

}  // namespace sparsecoll::cuda
