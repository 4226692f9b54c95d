// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ranks in shared memory. The rank of an index of a tile is the number of different indices of the
// tile that are less. Each index sets a bit. Its rank is the number of bits in the words before its
// own, which is stored for each word, and of those before it in its word.

#include "kernels/cuda/block.cuh"

namespace sparsecoll::cuda {

/// Ranks of indices that span at most kWords words of 32 bits. One thread calls set(). If `words`
/// is at most kWords, all threads of the block call clear(), each calls mark() for its indices, and
/// all call count(); then of() can be called.
template <class I, unsigned kWords>
struct IndexRanks {
  I first;         ///< no index is less
  unsigned words;  ///< words that the indices span; more than kWords if there is no room
  unsigned bits[kWords];
  uint16_t before[kWords];  ///< the number of bits in earlier words
  static_assert(kWords <= 0x10000 / 32);

  /// Sets a range that has all indices.
  __device__ void set(uint64_t least, uint64_t greatest) {
    first = static_cast<I>(least);
    const uint64_t more = (greatest - least) / 32;
    words = more < kWords ? static_cast<unsigned>(more) + 1 : kWords + 1;
  }

  /// Unmarks all indices.
  __device__ void clear() {
    for (unsigned w = threadIdx.x; w < words; w += kThreads) bits[w] = 0;
    __syncthreads();
  }
  __device__ void mark(I index) {
    const auto at = static_cast<unsigned>(index - first);
    atomicOr(&bits[at / 32], 1u << at % 32);
  }
  /// Finds the ranks of all marked indices. Returns how many different indices are marked.
  __device__ unsigned count(BlockSum<unsigned>::Storage& sum) {
    __syncthreads();
    // an odd number of words for each thread, so that adjacent threads use different banks
    const unsigned each = (words + kThreads - 1) / kThreads | 1;
    const unsigned begin = std::min(threadIdx.x * each, words);
    const unsigned end = std::min(begin + each, words);
    unsigned own = 0, all = 0;
    for (unsigned w = begin; w < end; ++w) own += static_cast<unsigned>(__popc(bits[w]));
    unsigned so_far = BlockSum<unsigned>(sum).before(own, &all);
    for (unsigned w = begin; w < end; ++w) {
      before[w] = static_cast<uint16_t>(so_far);
      so_far += static_cast<unsigned>(__popc(bits[w]));
    }
    __syncthreads();
    return all;
  }
  /// Returns the rank of a marked index.
  __device__ unsigned of(I index) const {
    const auto at = static_cast<unsigned>(index - first);
    return before[at / 32] + static_cast<unsigned>(__popc(bits[at / 32] & ((1u << at % 32) - 1)));
  }
};

}  // namespace sparsecoll::cuda
