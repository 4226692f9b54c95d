// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Radix selection: all blocks of a cooperative launch find the threshold that the k largest keys
// pass, one digit at a time from the most significant.
//
// 1. Count. Every block builds a histogram of the next digit in shared memory, over its own keys
//    that match the digits found so far, and adds it to the launch's histogram.
// 2. Choose. When all blocks have counted, each of them finds the digit of the k-th largest key.
// 3. Repeat with the next digit, until there is none or until all keys that match are selected.
//    There are few rounds.
//
// Every round reads the keys once. The result does not depend on the order in which blocks run.

#include <cooperative_groups.h>

#include <bit>

#include "core/numeric.hpp"
#include "kernels/cuda/block.cuh"
#include "kernels/kernels.hpp"

namespace sparsecoll::cuda {

inline constexpr int kRadixBits = 11;  ///< bits of a key that one round examines
inline constexpr unsigned kRadixDigits = 1u << kRadixBits;

/// Number of bits of the largest key.
template <class Value>
inline constexpr int kKeyBits = std::bit_width(kKeyEnd<Value> - 1);

inline constexpr int kMaxRounds = (64 + kRadixBits - 1) / kRadixBits;

/// The histograms of one search, in device memory. All zero before the search.
struct DigitCounts {
  uint64_t bin[kMaxRounds][kRadixDigits];
};

/// Shared memory of a block for find_threshold().
struct ThresholdStorage {
  unsigned bins[kRadixDigits];
  BlockSum<uint64_t>::Storage sum;
  uint64_t digit;
  uint64_t remaining;
  uint64_t matching;  ///< keys with the digits found so far
};

/// Counts the digit of one key per thread. If all lanes of a warp have the same digit, as in a
/// vector of equal values, one lane adds for all, to avoid contention on one counter.
__device__ inline void count_digit(unsigned* bins, bool valid, unsigned digit) {
  const unsigned first = __shfl_sync(kFullWarp, digit, 0);
  if (__all_sync(kFullWarp, valid && digit == first)) {
    if (threadIdx.x % 32 == 0) atomicAdd(&bins[digit], 32u);
  } else if (valid) {
    atomicAdd(&bins[digit], 1u);
  }
}

/// Leaves in `storage` the largest digit that at least `remaining` keys reach, or 0 if there are
/// fewer keys.
__device__ inline void choose_digit(const uint64_t* bin, uint64_t remaining,
                                    ThresholdStorage& storage) {
  constexpr unsigned kEach = kRadixDigits / kThreads;
  const unsigned top = kRadixDigits - 1 - threadIdx.x * kEach;
  uint64_t own[kEach], sum = 0, all = 0;
  for (unsigned b = 0; b < kEach; ++b) sum += own[b] = bin[top - b];
  uint64_t above = BlockSum<uint64_t>(storage.sum).before(sum, &all);
  for (unsigned b = 0; b < kEach && above < remaining; ++b) {
    if (above + own[b] >= remaining || top - b == 0) {
      storage.digit = top - b;
      storage.remaining = remaining - above;
      storage.matching = own[b];
      break;
    }
    above += own[b];
  }
  __syncthreads();
}

/// Returns the threshold of the k largest keys. All keys are below kKeyEnd<Value>. `keys` holds
/// this block's share: size() keys, key(j) for each j. All threads of all blocks must call it.
template <class Value, class ValueKeys>
__device__ Threshold find_threshold(const ValueKeys& keys, uint64_t k, DigitCounts* digits,
                                    ThresholdStorage& storage) {
  if (k == 0) return {kKeyEnd<Value>, 0};
  uint64_t prefix = 0, remaining = k;
  int round = 0;
  for (int high = kKeyBits<Value>; high > 0; ++round) {
    const int shift = high > kRadixBits ? high - kRadixBits : 0;
    const uint64_t mask = (uint64_t{1} << (high - shift)) - 1;
    for (unsigned b = threadIdx.x; b < kRadixDigits; b += kThreads) storage.bins[b] = 0;
    __syncthreads();
    const size_t n = keys.size();
    for (size_t begin = 0; begin < n; begin += kThreads) {
      const size_t j = begin + threadIdx.x;
      const uint64_t rest = j < n ? keys.key(j) >> shift : 0;  // `high` may be 64
      count_digit(storage.bins, j < n && rest >> (high - shift) == prefix,
                  static_cast<unsigned>(rest & mask));
    }
    __syncthreads();
    uint64_t* const bin = digits->bin[round];
    for (unsigned b = threadIdx.x; b < kRadixDigits; b += kThreads)
      if (storage.bins[b] != 0) add_to(&bin[b], storage.bins[b]);
    cooperative_groups::this_grid().sync();
    choose_digit(bin, remaining, storage);
    prefix = prefix << (high - shift) | storage.digit;
    remaining = storage.remaining;
    high = shift;
    const bool all_pass = storage.matching <= remaining;
    __syncthreads();  // before the next round clears the bins
    if (all_pass) {
      const uint64_t lowest = prefix << shift;
      return {lowest == 0 ? 0 : lowest - 1, 0};
    }
  }
  return prefix == 0 ? Threshold{0, 0} : Threshold{prefix, remaining};
}

}  // namespace sparsecoll::cuda
