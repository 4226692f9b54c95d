// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ways to wait for memory once where one would wait several times.

#include "kernels/cuda/launch.cuh"

namespace sparsecoll::cuda {

/// use(j, load(j)) for j = begin, begin + kStride, ... below end. Four loads, or kBatch, are on
/// their way at a time; a compiler that does not know what use() writes would wait for each.
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

/// How many of the n rising numbers at(j) are below `limit`, as lower_bound(): asks seven at a
/// time, so that a search in memory waits a third as often.
template <class At>
__device__ size_t count_below(size_t n, uint64_t limit, const At& at) {
  constexpr unsigned kParts = 8;
  size_t low = 0;
  while (n >= kParts) {
    const size_t part = n / kParts;
    unsigned below = 0;  // parts, but for the last, whose numbers all are
    for (unsigned p = 1; p < kParts; ++p) below += at(low + p * part - 1) < limit;
    low += below * part;
    n = below + 1 < kParts ? part - 1 : n - below * part;
  }
  unsigned below = 0;
  for (unsigned j = 0; j + 1 < kParts; ++j) below += j < n && at(low + j) < limit;
  return low + below;
}

/// Of rising indices.
template <class I>
__device__ size_t count_below(const I* index, size_t n, uint64_t limit) {
  return count_below(n, limit, [&](size_t j) { return uint64_t{index[j]}; });
}

}  // namespace sparsecoll::cuda
