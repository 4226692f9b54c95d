// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What passes a threshold, written in index order by all blocks of a cooperative launch:
//
// 1. Every warp counts what passes among the consecutive items that are its own.
// 2. When all have, every warp adds up what the warps before it have counted.
// 3. Every warp goes through its items again, 32 at a time; ballots say which comes where.
//
// Of the items that equal the threshold the first `ties` by index pass; as all counts are exact,
// it does not matter which warp runs when.

#include <cooperative_groups.h>

#include "kernels/cuda/block.cuh"
#include "kernels/kernels.hpp"

namespace sparsecoll::cuda {

/// Items by what the threshold says of them; in front of one item, or in all.
struct SelectionCounts {
  uint64_t above;    ///< pass, whatever the others are
  uint64_t equal;    ///< the first ties of these pass
  uint64_t nonzero;  ///< these are all others that matter

  __device__ uint64_t kept(uint64_t ties) const { return above + (equal < ties ? equal : ties); }
  __device__ SelectionCounts operator+(const SelectionCounts& more) const {
    return {above + more.above, equal + more.equal, nonzero + more.nonzero};
  }
};

// A source of items has
//   template <class Visit> void rows(Visit& visit)
// which calls visit(item, key, valid) with all lanes of the warp at once, for the items of this
// warp in their order; the items of all warps, in the order of blocks and warps, are all items.
// Only valid ones count.

struct CountRow {
  Threshold threshold;
  SelectionCounts own{};  ///< of this lane

  template <class Item>
  __device__ void operator()(const Item&, uint64_t key, bool valid) {
    own.above += valid && key > threshold.key;
    own.equal += valid && key == threshold.key && threshold.ties > 0;
    own.nonzero += valid && key != 0;
  }
};

/// Of all lanes.
__device__ inline uint64_t warp_sum(uint64_t value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(kFullWarp, value, step);
  return value;
}

template <class Emit>
struct WriteRow {
  Threshold threshold;
  Emit emit;
  SelectionCounts before;  ///< of all items in front of the row

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
      emit.keep(kept, item);
    else if (is_nonzero)
      emit.leave(own.nonzero - kept, item);
    before = before + SelectionCounts{static_cast<uint64_t>(__popc(above)),
                                      static_cast<uint64_t>(__popc(equal)),
                                      static_cast<uint64_t>(__popc(nonzero))};
  }
};

/// Of `all` tallies the sum of the first n; every thread of the block gets it.
__device__ inline SelectionCounts sum_of_first(const SelectionCounts* all, unsigned n,
                                               BlockSum<uint64_t>::Storage& storage) {
  SelectionCounts own{}, sum{};
  for (unsigned b = threadIdx.x; b < n; b += kThreads) own = own + all[b];
  BlockSum<uint64_t> block(storage);
  block.before(own.above, &sum.above);
  block.before(own.equal, &sum.equal);
  block.before(own.nonzero, &sum.nonzero);
  return sum;
}

/// emit.keep(position, item) for what passes and emit.leave(position, item) for the other
/// non-zeros, with positions counted from 0 for each. `tallies`: one for each block of the launch.
/// Returns the tally of the items of all blocks up to this one. Called by all threads of all
/// blocks.
template <class Source, class Emit>
__device__ SelectionCounts sieve(const Source& source, const Threshold& threshold, const Emit& emit,
                                 SelectionCounts* counts) {
  __shared__ SelectionCounts of_warp[kWarps];
  __shared__ BlockSum<uint64_t>::Storage storage;
  const unsigned warp = threadIdx.x / 32;
  CountRow count{threshold};
  source.rows(count);
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
  const SelectionCounts of_earlier = sum_of_first(counts, blockIdx.x, storage);
  WriteRow<Emit> write{threshold, emit, of_earlier + before};
  source.rows(write);
  return of_earlier + block;
}

/// n items that lie one after another, where every warp takes consecutive ones. `Items` has
/// item(j) and key(item).
template <class Items>
struct InOrder {
  Items items;
  size_t n;

  template <class Visit>
  __device__ void rows(Visit& visit) const {
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
