// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The second step of merge.cuh: adds up a tile, a few entries of several sorted inputs, in shared
// memory. If the entries are dense, at least one in 32 indices:
//
// 1. Rank. Each index sets a bit; the number of bits before it is the position of its sum
//    (index_ranks.cuh).
// 2. Add. One input after the other, each entry is added to its sum.
//
// Otherwise:
//
// 1. Sort. Inputs are merged in pairs, then the results in pairs, and so on. In each round a thread
//    writes a few consecutive entries. One binary search finds where they begin in the two runs;
//    from there it merges entry by entry.
// 2. Add. A thread adds up each run of equal keys that begins among its entries. The sums move to
//    the front of the tile.

#include "kernels/cuda/merge/index_ranks.cuh"
#include "kernels/cuda/merge/partition.cuh"

namespace sparsecoll::cuda {

/// A tile in shared memory.
template <class Acc, class I>
struct Tile {
  /// Most consecutive entries of a thread. An odd number, so that adjacent threads use different
  /// banks.
  static constexpr unsigned kEach = kTile / kThreads | 1;
  /// Blocks of a multiprocessor that leave each thread enough registers.
  static constexpr unsigned kBlocks =
      sizeof(I) + sizeof(Acc) > 8 ? kResidentBlocks - 1 : kResidentBlocks;

  I key[kTile + 1];  ///< one extra: merge_runs() reads past the last run
  Acc value[kTile];
  /// first entry of each input; n for all inputs that follow the last
  unsigned start[kMaxInputs + 1];
  uint64_t offset[kMaxInputs];  ///< entry i of the tile is entry i + offset of its input
  View<Acc, I> input[kMaxInputs];
  BlockSum<unsigned>::Storage sum;
  IndexRanks<I, kTile> ranks;

  /// The entries of this thread as they lie in the inputs, one behind the other: every kThreads-th.
  struct Rows {
    static constexpr unsigned kRows = kTile / kThreads;
    I key[kRows];
    Acc value[kRows];
  };

  /// Finds the entries of tile t, input after input, and returns their number. Thread p < count has
  /// set input[p] before.
  __device__ unsigned find(const TileBounds& bounds, uint64_t t, unsigned count) {
    const uint64_t* const at = bounds.begin;
    if (threadIdx.x < 32) {
      const unsigned p = threadIdx.x;
      uint64_t begin = 0, end = 0;
      if (p < count) {
        begin = at ? at[t * count + p] : 0;
        end = at ? at[(t + 1) * count + p] : input[p].nnz.get();
      }
      const auto own = static_cast<unsigned>(end - begin);
      unsigned behind = own;
      for (unsigned step = 1; step < 32; step *= 2) {
        const unsigned before = __shfl_up_sync(kFullWarp, behind, step);
        if (p >= step) behind += before;
      }
      offset[p] = begin - (behind - own);
      start[p + 1] = behind;
      if (p == 0) {
        start[0] = 0;
        if (at)
          ranks.set(bounds.first[t], bounds.first[t + 1] - 1);
        else
          ranks.set(0, ~uint64_t{0});  // not known
      }
    }
    __syncthreads();
    return start[count];
  }

  /// Calls use(r, i) for every entry i of this thread, its r-th, of the n entries of the tile. The
  /// compiler can keep what belongs to r in registers.
  template <class Use>
  __device__ static void for_rows(unsigned n, const Use& use) {
    for (unsigned r = 0; r < Rows::kRows; ++r) {
      const unsigned i = threadIdx.x + r * kThreads;
      if (i >= n) break;
      use(r, i);
    }
  }

  /// Reads the entries of this thread, of the n entries of the tile.
  __device__ void read(unsigned n, Rows& rows) {
    unsigned p = 0;
    for_rows(n, [&](unsigned r, unsigned i) {  // all loads before the first use
      while (i >= start[p + 1]) ++p;
      rows.key[r] = static_cast<I>(input[p].at(i + offset[p]));
      rows.value[r] = input[p].value[i + offset[p]];
    });
  }

  /// Adds each entry to the sum at the rank of its index. The sums are at the front of the tile.
  /// Returns their number.
  __device__ unsigned add_by_rank(unsigned n, const Rows& rows) {
    ranks.clear();
    for_rows(n, [&](unsigned r, unsigned) { ranks.mark(rows.key[r]); });
    const unsigned sums = ranks.count(sum);
    const I none = static_cast<I>(ranks.first - 1);  // no index of a tile that spans so few
    for (unsigned j = threadIdx.x; j < sums; j += kThreads) key[j] = none;
    __syncthreads();
    unsigned p = 0;
    for (unsigned r = 0; r < Rows::kRows; ++r) {
      const unsigned i = threadIdx.x + r * kThreads;
      if (r * kThreads >= n) break;
      for (;; ++p) {
        if (i >= start[p] && i < start[p + 1]) {
          const unsigned to = ranks.of(rows.key[r]);
          const bool first = key[to] != rows.key[r];
          if (first) key[to] = rows.key[r];
          value[to] = first ? rows.value[r] : value[to] + rows.value[r];
        }
        if (start[p + 1] >= std::min((r + 1) * kThreads, n)) break;
        __syncthreads();  // before the next input is added
      }
    }
    __syncthreads();
    return sums;
  }

  /// Consecutive entries of this thread, of the n entries of the tile.
  struct ThreadEntries {
    unsigned begin;
    unsigned end;
    I key[kEach];
    Acc value[kEach];

    __device__ explicit ThreadEntries(unsigned n) {
      const unsigned each = (n + kThreads - 1) / kThreads | 1;
      begin = std::min(threadIdx.x * each, n);
      end = std::min(begin + each, n);
    }
  };

  /// Merges runs of `width` inputs in pairs. If keys are equal, the entry of the earlier run comes
  /// first.
  __device__ void merge_runs(unsigned width, ThreadEntries& own) {
    if (own.begin < own.end) {
      unsigned p = 0;  // [a, middle) and [b, right) are what is left of the current pair of runs
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
        // No branch: the entry past the end of a run is read but not used.
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

  /// Adds up the runs of equal keys in the order of the inputs. Leaves the sums at the front of the
  /// tile and returns their number.
  __device__ unsigned add_runs(unsigned n, ThreadEntries& own) {
    unsigned heads = 0;  // bit e: a run begins at entry e
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
    if (heads != 0)  // the last run may continue in the entries of the next threads
      for (unsigned i = own.end; i < n && key[i] == last; ++i) so_far += value[i];
    unsigned runs = 0;
    unsigned to = BlockSum<unsigned>(sum).before(static_cast<unsigned>(__popc(heads)), &runs);
    const unsigned ended =
        (heads & (heads - 1)) >> 1;  // bit e: a run ends at entry e and another follows
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

  /// Adds up tile t. Returns the number of sums, which are at the front.
  __device__ unsigned add_up(const TileBounds& bounds, uint64_t t, unsigned count) {
    const unsigned n = find(bounds, t, count);
    {
      Rows rows;
      read(n, rows);
      if (ranks.words <= n) return add_by_rank(n, rows);
      for_rows(n, [&](unsigned r, unsigned i) {
        key[i] = rows.key[r];
        value[i] = rows.value[r];
      });
    }
    __syncthreads();
    ThreadEntries own(n);
    for (unsigned width = 1; width < count; width *= 2) merge_runs(width, own);
    return add_runs(n, own);
  }
};

}  // namespace sparsecoll::cuda
