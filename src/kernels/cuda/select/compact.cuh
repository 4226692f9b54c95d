// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Compaction: all blocks of a cooperative launch write the items that pass a threshold, in index
// order.
//
// 1. Count. Every warp counts the passing items in its own range of consecutive items.
// 2. Scan. When all warps have counted, every warp adds up the counts of the warps before it.
// 3. Write. Every warp reads its items again, 32 at a time. Ballots give each item its position.
//
// Items above the threshold pass, and so do the first `ties` items, by index, that equal it. All
// counts are exact, so the result does not depend on the order in which warps run.

#include <cooperative_groups.h>

#include "kernels/cuda/block.cuh"
#include "kernels/kernels.hpp"

namespace sparsecoll::cuda {

/// Counts of items by their relation to the threshold, either before one item or in total.
struct SelectionCounts {
  uint64_t above;    ///< items above the threshold: all of them pass
  uint64_t equal;    ///< items equal to the threshold: the first `ties` pass
  uint64_t nonzero;  ///< items that are not zero, which include the two above

  __device__ uint64_t kept(uint64_t ties) const { return above + (equal < ties ? equal : ties); }
  __device__ SelectionCounts operator+(const SelectionCounts& more) const {
    return {above + more.above, equal + more.equal, nonzero + more.nonzero};
  }
};

// A source of items has
//   template <class Visit> void for_rows(Visit& visit)
// which calls visit(item, key, valid) with all lanes of the warp together, for the warp's items in
// order. The items of all warps, ordered by block and warp, are the whole input. Items that are not
// valid are padding and are not counted.

struct CountPassing {
  Threshold threshold;
  SelectionCounts own{};  ///< counts of this lane

  template <class Item>
  __device__ void operator()(const Item&, uint64_t key, bool valid) {
    own.above += valid && key > threshold.key;
    own.equal += valid && key == threshold.key && threshold.ties > 0;
    own.nonzero += valid && key != 0;
  }
};

/// Returns the sum over the lanes of the warp, to every lane.
__device__ inline uint64_t warp_sum(uint64_t value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(kFullWarp, value, step);
  return value;
}

template <class Writer>
struct WritePassing {
  Threshold threshold;
  Writer writer;
  SelectionCounts before;  ///< counts of all items before the current row

  template <class Item>
  __device__ void operator()(const Item& item, uint64_t key, bool valid) {
    const bool is_above = valid && key > threshold.key;
    const bool is_equal = valid && key == threshold.key && threshold.ties > 0;
    const bool is_nonzero = valid && key != 0;
    const unsigned above = __ballot_sync(kFullWarp, is_above);
    const unsigned equal = __ballot_sync(kFullWarp, is_equal);
    const unsigned nonzero = __ballot_sync(kFullWarp, is_nonzero);
    const unsigned earlier = (1u << threadIdx.x % 32) - 1;
    const SelectionCounts own =
        before + SelectionCounts{static_cast<uint64_t>(__popc(above & earlier)),
                                 static_cast<uint64_t>(__popc(equal & earlier)),
                                 static_cast<uint64_t>(__popc(nonzero & earlier))};
    const uint64_t kept = own.kept(threshold.ties);
    if (is_above || (is_equal && own.equal < threshold.ties))
      writer.keep(kept, item);
    else if (is_nonzero)
      writer.reject(own.nonzero - kept, item);
    before = before + SelectionCounts{static_cast<uint64_t>(__popc(above)),
                                      static_cast<uint64_t>(__popc(equal)),
                                      static_cast<uint64_t>(__popc(nonzero))};
  }
};

/// Returns the sum of the counts of the first n blocks, to every thread of the block.
__device__ inline SelectionCounts sum_of_first_blocks(const SelectionCounts* all, unsigned n,
                                                      BlockSum<uint64_t>::Storage& storage) {
  SelectionCounts own{}, sum{};
  for (unsigned b = threadIdx.x; b < n; b += kThreads) own = own + all[b];
  BlockSum<uint64_t> block(storage);
  block.before(own.above, &sum.above);
  block.before(own.equal, &sum.equal);
  block.before(own.nonzero, &sum.nonzero);
  return sum;
}

/// Calls writer.keep(position, item) for every item that passes and writer.reject(position, item)
/// for every other non-zero. Each kind has positions of its own, which start at 0. `counts` has
/// room for one element per block of the launch. Returns the counts of all items up to the end of
/// this block. All threads of all blocks must call it.
template <class Source, class Writer>
__device__ SelectionCounts compact(const Source& source, const Threshold& threshold,
                                   const Writer& writer, SelectionCounts* counts) {
  __shared__ SelectionCounts of_warp[kWarps];
  __shared__ BlockSum<uint64_t>::Storage storage;
  const unsigned warp = threadIdx.x / 32;
  CountPassing count{threshold};
  source.for_rows(count);
  const SelectionCounts own{warp_sum(count.own.above), warp_sum(count.own.equal),
                            warp_sum(count.own.nonzero)};
  if (threadIdx.x % 32 == 0) of_warp[warp] = own;
  __syncthreads();
  SelectionCounts block{}, before{};
  for (unsigned w = 0; w < kWarps; ++w) {
    if (w < warp) before = before + of_warp[w];
    block = block + of_warp[w];
  }
  if (threadIdx.x == 0) counts[blockIdx.x] = block;
  cooperative_groups::this_grid().sync();
  const SelectionCounts of_earlier = sum_of_first_blocks(counts, blockIdx.x, storage);
  WritePassing<Writer> write{threshold, writer, of_earlier + before};
  source.for_rows(write);
  return of_earlier + block;
}

/// A source of n consecutive items. Every warp takes a consecutive range of them. `Items` has
/// item(j) and key(item).
template <class Items>
struct ItemsInOrder {
  Items items;
  size_t n;

  template <class Visit>
  __device__ void for_rows(Visit& visit) const {
    const Share share = share_of_warp(n);
    for (size_t row = share.begin; row < share.end; row += 32) {
      const size_t j = row + threadIdx.x % 32;
      const bool valid = j < share.end;
      const auto item = items.item(valid ? j : row);
      visit(item, items.key(item), valid);
    }
  }
};

}  // namespace sparsecoll::cuda
