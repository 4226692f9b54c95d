// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The second step of merge.cuh: a few entries of several sorted pieces in shared memory, sorted
// there by merging pieces by twos, their results by twos, and so on. Values stay where they are.

#include "kernels/cuda/cuts.cuh"

namespace sparsecoll::cuda {

/// A tile in shared memory.
template <class Acc, class I>
struct Tile {
  static constexpr unsigned kEach = kTile / kThreads;
  /// Blocks of a multiprocessor that leave their threads registers enough.
  static constexpr unsigned kBlocks = sizeof(I) == 8 ? kResident - 1 : kResident;

  I key[kTile];
  Acc value[kTile];               ///< where they were loaded
  uint16_t from[kTile];           ///< of a key: its place when loaded, and its piece above that
  uint16_t head[kTile];           ///< where runs begin
  unsigned start[kTogether + 1];  ///< of the pieces, when loaded
  uint64_t first[kTogether];      ///< entries of the pieces in front of the tile
  View<Acc, I> piece[kTogether];
  unsigned heads[kWarps];

  static __device__ unsigned place_in(unsigned from) { return from % kTile; }
  static __device__ unsigned piece_of(unsigned from) { return from >> kTileBits; }

  /// Brings the entries of tile t of `count` pieces; returns how many. Thread p < count has set
  /// piece[p].
  __device__ unsigned load(const uint64_t* at, uint64_t t, unsigned count) {
    if (threadIdx.x < 32) {
      const unsigned p = threadIdx.x;
      uint64_t begin = 0, end = 0;
      if (p < count) {
        begin = at ? at[t * count + p] : 0;
        end = at ? at[(t + 1) * count + p] : piece[p].nnz.get();
      }
      unsigned sum = static_cast<unsigned>(end - begin);
      first[p] = begin;
      for (unsigned step = 1; step < 32; step *= 2) {
        const unsigned before = __shfl_up_sync(kFullWarp, sum, step);
        if (p >= step) sum += before;
      }
      start[p + 1] = sum;
      if (p == 0) start[0] = 0;
    }
    __syncthreads();
    const unsigned n = start[count];
    for (unsigned i = threadIdx.x; i < n; i += kThreads) {
      unsigned p = 0;
      for (unsigned step = kTogether / 2; step > 0; step /= 2)
        if (p + step < count && start[p + step] <= i) p += step;
      from[i] = static_cast<uint16_t>(p << kTileBits | i);
    }
    I index[kEach];
    Acc loaded[kEach];
    for (unsigned e = 0; e < kEach; ++e) {  // all reads before the first write
      const unsigned i = e * kThreads + threadIdx.x;
      if (i >= n) break;
      const unsigned p = piece_of(from[i]);
      const size_t j = first[p] + (i - start[p]);
      index[e] = static_cast<I>(piece[p].at(j));
      loaded[e] = piece[p].value[j];
    }
    for (unsigned e = 0; e < kEach; ++e) {
      const unsigned i = e * kThreads + threadIdx.x;
      if (i >= n) break;
      key[i] = index[e];
      value[i] = loaded[e];
    }
    __syncthreads();
    return n;
  }

  /// Where entry i goes when runs of `width` pieces are merged by twos; equal keys of the earlier
  /// run come first.
  __device__ unsigned place_after(unsigned i, unsigned width, unsigned count) const {
    const unsigned run = piece_of(from[i]) / width;
    const unsigned left = start[(run & ~1u) * width];
    const unsigned middle = start[std::min((run | 1u) * width, count)];
    const unsigned right = start[std::min(((run | 1u) + 1) * width, count)];
    const bool second = run % 2 != 0;
    const I own = key[i];
    const unsigned begin = second ? left : middle, end = second ? middle : right;
    const unsigned behind = first_where(begin, end, [&](unsigned other) {
      return key[other] > own || (!second && key[other] == own);
    });
    return i + (behind - begin) - (second ? middle - left : 0);
  }

  /// Sorts the n keys by (key, piece).
  __device__ void sort(unsigned n, unsigned count) {
    for (unsigned width = 1; width < count; width *= 2) {
      I own[kEach];
      unsigned moves[kEach];  // where it goes, and above that what it is
      for (unsigned e = 0; e < kEach; ++e) {
        const unsigned i = e * kThreads + threadIdx.x;
        if (i >= n) break;
        own[e] = key[i];
        moves[e] = place_after(i, width, count) | uint32_t{from[i]} << 16;
      }
      __syncthreads();
      for (unsigned e = 0; e < kEach; ++e) {
        if (e * kThreads + threadIdx.x >= n) break;
        const unsigned to = moves[e] & 0xffff;
        key[to] = own[e];
        from[to] = static_cast<uint16_t>(moves[e] >> 16);
      }
      __syncthreads();
    }
  }

  /// Finds where runs of equal keys begin; returns how many.
  __device__ unsigned find_heads(unsigned n) {
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    unsigned is_head[kEach], own = 0, all = 0;
    for (unsigned e = 0; e < kEach; ++e) {
      const unsigned i = (warp * kEach + e) * 32 + lane;
      is_head[e] = __ballot_sync(kFullWarp, i < n && (i == 0 || key[i] != key[i - 1]));
      own += static_cast<unsigned>(__popc(is_head[e]));
    }
    if (lane == 0) heads[warp] = own;
    __syncthreads();
    unsigned at = 0;
    for (unsigned w = 0; w < kWarps; ++w) {
      if (w < warp) at += heads[w];
      all += heads[w];
    }
    for (unsigned e = 0; e < kEach; ++e) {
      const unsigned i = (warp * kEach + e) * 32 + lane;
      if (is_head[e] >> lane & 1)
        head[at + static_cast<unsigned>(__popc(is_head[e] & ((1u << lane) - 1)))] =
            static_cast<uint16_t>(i);
      at += static_cast<unsigned>(__popc(is_head[e]));
    }
    __syncthreads();
    return all;
  }

  /// The sum of the run [i, end), in the order of the pieces.
  __device__ Acc sum(unsigned i, unsigned end) const {
    Acc sum = value[place_in(from[i])];
    while (++i < end) sum += value[place_in(from[i])];
    return sum;
  }
};

}  // namespace sparsecoll::cuda
