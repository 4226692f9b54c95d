// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The first step of merge.cuh: cuts sorted inputs into tiles of a few entries, at the same indices
// in all inputs. P is the number of inputs.
//
// 1. Sample. Every S-th entry of every input is a sample. The rank of a sample is the number of
//    samples that precede it in the order by (index, input). Searches in the samples of every input
//    find it; samples are not sorted. A group of lanes takes consecutive samples of an input. Their
//    indices rise, so that each search begins where the one before it ended.
// 2. Cut. Every G-th sample in that order is a cut. In each input the position of its index lies
//    between two samples that step 1 has found, so a short search finds it.
//
// A tile has at most (G + P) S = kTile entries, whatever the data: an input with g of its G samples
// has at most (g + 1) S entries in it. Entries with equal indices are always in the same tile.
//
// One launch. Each lane searches the samples of one input. For every entry of the inputs there are
// P / S searches: 1 / 128 with two inputs, 1 / 8 with eight, 1 with 32. A search reads one to four
// samples if the inputs are alike, except for the first of a lane, which is binary.

#include <bit>
#include <span>

#include "kernels/cuda/merge/concatenate.cuh"

namespace sparsecoll::cuda {

inline constexpr unsigned kTileBits = 11;
inline constexpr unsigned kTile = 1u << kTileBits;  ///< most entries of a tile
inline constexpr unsigned kSmallTileBits = 9;       ///< for fewer entries than fill all blocks
inline constexpr unsigned kMaxInputs = 32;  ///< most inputs of a merge: one for each lane of a warp

/// The inputs of one merge, as a parameter of a launch.
template <class Acc, class I>
struct MergeInputs {
  View<Acc, I> input[kMaxInputs];
  unsigned count;

  explicit MergeInputs(std::span<const SparseSpan> spans)
      : input{}, count(static_cast<unsigned>(spans.size())) {
    for (size_t p = 0; p < spans.size(); ++p) input[p] = View<Acc, I>(spans[p]);
  }
};

/// The spacing of samples and cuts.
struct Sampling {
  unsigned shift;  ///< every S = 2^shift-th entry is a sample
  unsigned group;  ///< every G-th sample is a cut

  /// Chooses S and G for tiles of at most 2^tile_bits entries. G is at least P, and at least 3 P
  /// for up to 16 inputs, so that tiles are well filled.
  Sampling(size_t inputs, unsigned tile_bits)
      : shift(tile_bits - 2 - std::min(static_cast<unsigned>(std::bit_width(inputs - 1)), 4u)),
        group((1u << (tile_bits - shift)) - static_cast<unsigned>(inputs)) {}

  __host__ __device__ size_t samples(size_t entries) const {
    return (entries + (size_t{1} << shift) - 1) >> shift;
  }
};

/// The bounds of the tiles: tile t has entries [begin[t P + p], begin[(t + 1) P + p]) of input p,
/// and its indices are from first[t] to first[t + 1] - 1. All pointers are null if one tile has all
/// entries.
struct TileBounds {
  uint64_t* tile_count;  ///< number of tiles
  uint64_t* begin;
  uint64_t* first;
};

/// The samples of one input: every 2^shift-th entry. Each lane searches the samples of one input.
template <class Acc, class I>
struct InputSamples {
  View<Acc, I> input;
  size_t entries;
  unsigned shift;

  /// Returns whether sample j does not precede index x. `equal` says whether an equal index does.
  __device__ bool behind(size_t j, uint64_t x, bool equal) const {
    const uint64_t index = input.at(j << shift);
    return index > x || (!equal && index == x);
  }
  /// Returns how many of the n samples precede index x.
  __device__ size_t before(uint64_t x, bool equal, size_t n) const {
    return first_where<size_t>(0, n, [&](size_t j) { return behind(j, x, equal); });
  }
  /// Returns the same number, given that the first `known` samples precede index x. It reads few
  /// samples if few others precede x.
  __device__ size_t before(uint64_t x, bool equal, size_t n, size_t known) const {
    size_t low = known, high = known;
    for (size_t step = 1; high < n && !behind(high, x, equal); step *= 2) {
      low = high + 1;
      high += step;
    }
    return first_where(low, std::min(high, n), [&](size_t j) { return behind(j, x, equal); });
  }
  /// Returns how many entries are below index x, given that `rank` samples precede it.
  __device__ size_t below(uint64_t x, size_t rank) const {
    if (rank == 0) return 0;
    return first_where((rank - 1) << shift, std::min(rank << shift, entries),
                       [&](size_t j) { return input.at(j) >= x; });
  }
};

/// Finds the bounds of the tiles. A group of `lanes` lanes, one for each input, takes consecutive
/// samples.
template <class Acc, class I>
__global__ void __launch_bounds__(kThreads, kResidentLightBlocks)
    partition_inputs(const __grid_constant__ MergeInputs<Acc, I> inputs, Sampling sampling,
                     unsigned lanes, TileBounds bounds) {
  __shared__ uint64_t start[kMaxInputs + 1];  // samples of all inputs before each input
  const unsigned count = inputs.count;
  const unsigned q = threadIdx.x % lanes;
  InputSamples<Acc, I> own{inputs.input[std::min(q, count - 1)], 0, sampling.shift};
  own.entries = own.input.nnz.get();
  const size_t own_samples = sampling.samples(own.entries);
  if (threadIdx.x < count) start[q + 1] = own_samples;
  __syncthreads();
  if (threadIdx.x == 0) {
    start[0] = 0;
    for (unsigned p = 0; p < count; ++p) start[p + 1] += start[p];
  }
  __syncthreads();
  const uint64_t all = start[count], tiles = (all + sampling.group - 1) / sampling.group;
  if (blockIdx.x == 0 && threadIdx.x < count) bounds.begin[tiles * count + q] = own.entries;
  if (blockIdx.x == 0 && threadIdx.x < 32) {
    uint64_t last = q == threadIdx.x && own.entries > 0 ? own.input.at(own.entries - 1) : 0;
    for (int step = 16; step > 0; step /= 2)
      last = std::max(last, __shfl_xor_sync(kFullWarp, last, step));
    if (threadIdx.x == 0) {
      *bounds.tile_count = tiles;
      bounds.first[tiles] = last + 1;
    }
  }
  const size_t groups = size_t{gridDim.x} * (kThreads / lanes);
  const size_t each = (all + groups - 1) / groups;
  const size_t group = (size_t{blockIdx.x} * kThreads + threadIdx.x) / lanes;
  // The lanes of a warp go together. Behind the end they find the last sample again.
  if ((group - threadIdx.x % 32 / lanes) * each >= all) return;
  size_t p = count, before = 0;
  for (size_t j = 0; j < each; ++j) {
    const size_t s = std::min<size_t>(group * each + j, all - 1);
    const bool first = p == count || s >= start[p + 1];
    if (first) p = input_of(start, s, 0, count);
    const uint64_t x = inputs.input[p].at((s - start[p]) << sampling.shift);
    if (q < count)
      before =
          first ? own.before(x, q < p, own_samples) : own.before(x, q < p, own_samples, before);
    uint64_t rank = before;
    for (unsigned lane = lanes / 2; lane > 0; lane /= 2)
      rank += __shfl_xor_sync(kFullWarp, rank, static_cast<int>(lane));
    if (rank % sampling.group != 0) continue;
    if (q < count) bounds.begin[rank / sampling.group * count + q] = own.below(x, before);
    if (q == 0) bounds.first[rank / sampling.group] = x;
  }
}

}  // namespace sparsecoll::cuda
