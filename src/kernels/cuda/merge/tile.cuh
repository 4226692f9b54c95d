// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The second step of merge.cuh: a few entries of several sorted pieces in shared memory, added up
// there.
//
// 1. Pieces are merged by twos, their results by twos, and so on. In each round a thread writes a
//    few consecutive entries: it finds by one binary search where these begin in the two runs, and
//    goes on from there entry by entry.
// 2. A thread adds up the runs of equal keys that begin among its entries. The sums move to the
//    front.

#include "kernels/cuda/merge/cuts.cuh"

namespace sparsecoll::cuda {

/// A tile in shared memory.
template <class Acc, class I>
struct Tile {
  /// Consecutive entries of a thread, at most. An odd number: neighbours' fall on different banks.
  static constexpr unsigned kEach = kTile / kThreads | 1;
  /// Blocks of a multiprocessor that leave their threads registers enough.
  static constexpr unsigned kBlocks = sizeof(I) + sizeof(Acc) > 8 ? kResident - 1 : kResident;

  I key[kTile + 1];  ///< one more: see merge_runs()
  Acc value[kTile];
  unsigned start[kTogether + 1];  ///< of the pieces; behind the last one all are n
  uint64_t shift[kTogether];      ///< entry i of the tile is entry i + shift of its piece
  View<Acc, I> piece[kTogether];
  BlockSum<unsigned>::Storage sum;

  /// Brings the entries of tile t of `count` pieces, one piece behind the other; returns how many.
  /// Thread p < count has set piece[p].
  __device__ unsigned load(const uint64_t* at, uint64_t t, unsigned count) {
    if (threadIdx.x < 32) {
      const unsigned p = threadIdx.x;
      uint64_t begin = 0, end = 0;
      if (p < count) {
        begin = at ? at[t * count + p] : 0;
        end = at ? at[(t + 1) * count + p] : piece[p].nnz.get();
      }
      const auto own = static_cast<unsigned>(end - begin);
      unsigned behind = own;
      for (unsigned step = 1; step < 32; step *= 2) {
        const unsigned before = __shfl_up_sync(kFullWarp, behind, step);
        if (p >= step) behind += before;
      }
      shift[p] = begin - (behind - own);
      start[p + 1] = behind;
      if (p == 0) start[0] = 0;
    }
    __syncthreads();
    const unsigned n = start[count];
    constexpr unsigned kRows = kTile / kThreads;
    const unsigned rows = (n + kThreads - 1) / kThreads;  // of 32 entries, for each warp
    const unsigned first = threadIdx.x / 32 * rows * 32, end = std::min(first + rows * 32, n);
    const unsigned begin = first + threadIdx.x % 32;
    I index[kRows];
    Acc loaded[kRows];
    View<Acc, I> from{};
    uint64_t more = 0;
    for (unsigned r = 0, p = 0, behind = 0; r < kRows; ++r) {  // all reads before the first write
      const unsigned i = begin + r * 32;
      if (i >= end) break;
      if (i >= behind) {
        while (i >= start[p + 1]) ++p;
        behind = start[p + 1];
        from = piece[p];
        more = shift[p];
      }
      index[r] = static_cast<I>(from.at(i + more));
      loaded[r] = from.value[i + more];
    }
    for (unsigned r = 0; r < kRows; ++r) {
      const unsigned i = begin + r * 32;
      if (i >= end) break;
      key[i] = index[r];
      value[i] = loaded[r];
    }
    __syncthreads();
    return n;
  }

  /// Consecutive entries of this thread, of n.
  struct Own {
    unsigned begin;
    unsigned end;
    I key[kEach];
    Acc value[kEach];

    __device__ explicit Own(unsigned n) {
      const unsigned each = (n + kThreads - 1) / kThreads | 1;
      begin = std::min(threadIdx.x * each, n);
      end = std::min(begin + each, n);
    }
  };

  /// Merges runs of `width` pieces by twos; equal keys of the earlier run come first.
  __device__ void merge_runs(unsigned width, Own& own) {
    if (own.begin < own.end) {
      unsigned p = 0;  // the pair of runs [a, middle) and [b, right), where a and b move on
      while (start[p + 2 * width] <= own.begin) p += 2 * width;
      unsigned middle = start[p + width], right = start[p + 2 * width];
      const unsigned left = start[p], second = right - middle, both = middle + own.begin;
      unsigned a =
          first_where(std::max(left + second, own.begin) - second, std::min(middle, own.begin),
                      [&](unsigned i) { return key[i] > key[both - 1 - i]; });
      unsigned b = both - a;
      I key_a = key[a], key_b = key[b];
      for (unsigned e = 0; e < kEach; ++e) {
        const unsigned to = own.begin + e;
        if (to == own.end) break;
        if (to == right) {
          do p += 2 * width;
          while (to == start[p + 2 * width]);
          a = right;
          b = middle = start[p + width];
          right = start[p + 2 * width];
          key_a = key[a];
          key_b = key[b];
        }
        // Without a branch: what lies behind the runs is read and not used.
        const bool first = (b == right) | ((a < middle) & (key_a <= key_b));
        const unsigned next = first ? a : b;
        own.key[e] = first ? key_a : key_b;
        own.value[e] = value[next];
        const I behind = key[next + 1];
        if (first) {
          ++a;
          key_a = behind;
        } else {
          ++b;
          key_b = behind;
        }
      }
    }
    __syncthreads();
    for (unsigned e = 0; e < kEach; ++e) {
      const unsigned to = own.begin + e;
      if (to >= own.end) break;
      key[to] = own.key[e];
      value[to] = own.value[e];
    }
    __syncthreads();
  }

  /// Adds up the runs of equal keys, in the order of the pieces; returns how many. Leaves the sums
  /// at the front.
  __device__ unsigned add_runs(unsigned n, Own& own) {
    unsigned heads = 0;  // bit e: a run begins with entry e
    I last{};
    Acc so_far{};
    for (unsigned e = 0; e < kEach; ++e) {
      const unsigned i = own.begin + e;
      if (i >= own.end) break;
      const bool head = i == 0 || own.key[e] != (e == 0 ? key[i - 1] : last);
      heads |= (head ? 1u : 0u) << e;
      last = own.key[e];
      so_far = head ? own.value[e] : so_far + own.value[e];
      own.value[e] = so_far;
    }
    if (heads != 0)  // a run that goes on among the next threads' entries
      for (unsigned i = own.end; i < n && key[i] == last; ++i) so_far += value[i];
    unsigned runs = 0;
    unsigned to = BlockSum<unsigned>(sum).before(static_cast<unsigned>(__popc(heads)), &runs);
    const unsigned ended =
        (heads & (heads - 1)) >> 1;  // bit e: by entry e, and another run follows
    for (unsigned e = 0; e + 1 < kEach; ++e) {
      if (!(ended >> e & 1)) continue;
      key[to] = own.key[e];
      value[to] = own.value[e];
      ++to;
    }
    if (heads != 0) {
      key[to] = last;
      value[to] = so_far;
    }
    __syncthreads();
    return runs;
  }

  /// Of tile t: loads, sorts, adds up. Returns how many sums are at the front.
  __device__ unsigned add_up(const uint64_t* at, uint64_t t, unsigned count) {
    const unsigned n = load(at, t, count);
    Own own(n);
    for (unsigned width = 1; width < count; width *= 2) merge_runs(width, own);
    return add_runs(n, own);
  }
};

}  // namespace sparsecoll::cuda
