// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The first step of merge.cuh: sorted pieces cut into tiles of a few entries each, the same indices
// in all pieces.
//
// 1. Every S-th entry of every piece is a sample. All are in order by (index, piece), though nobody
//    sorts them: a binary search in every piece's samples says how many come before one.
// 2. Each G-th sample in that order is a cut. Where its index is in a piece lies between two of the
//    piece's samples, whose number step 1 has found: a short search.
//
// Between two cuts are at most (G + P) S = kTile entries, whatever the data: (g + 1) S of a piece
// with g of the G samples in between. Entries of one index are on one side of a cut.
//
// One launch, in which each lane makes one search: P / S searches per entry, 1 / 128 for two
// pieces, 1 / 8 for eight, 1 for 32.

#include <bit>
#include <span>

#include "kernels/cuda/merge/concatenate.cuh"

namespace sparsecoll::cuda {

inline constexpr unsigned kTileBits = 11;
inline constexpr unsigned kTile = 1u << kTileBits;  ///< entries of a tile, at most
inline constexpr unsigned kSmallTileBits = 9;       ///< of tiles where few entries are at hand
inline constexpr unsigned kTogether = 32;           ///< pieces, at most: one for a lane

/// Pieces that are merged together: what a launch carries in its parameters.
template <class Acc, class I>
struct Together {
  View<Acc, I> piece[kTogether];
  unsigned count;

  explicit Together(std::span<const SparseSpan> spans)
      : piece{}, count(static_cast<unsigned>(spans.size())) {
    for (size_t p = 0; p < spans.size(); ++p) piece[p] = View<Acc, I>(spans[p]);
  }
};

/// S and G.
struct Sampling {
  unsigned shift;  ///< S = 2^shift
  unsigned group;  ///< G

  /// For tiles of at most 2^tile_bits entries. G is at least P, and 3 P for up to 16 pieces, so
  /// that tiles are well filled.
  Sampling(size_t pieces, unsigned tile_bits)
      : shift(tile_bits - 2 - std::min(static_cast<unsigned>(std::bit_width(pieces - 1)), 4u)),
        group((1u << (tile_bits - shift)) - static_cast<unsigned>(pieces)) {}

  __host__ __device__ size_t samples(size_t entries) const {
    return (entries + (size_t{1} << shift) - 1) >> shift;
  }
};

/// Where tiles begin in the pieces: tile t has the entries [at[t P + p], at[(t + 1) P + p]) of
/// piece p. Both null: one tile has all entries.
struct Cuts {
  uint64_t* tiles;  ///< how many
  uint64_t* at;
};

/// A piece's samples, as one lane sees them.
template <class Acc, class I>
struct Samples {
  View<Acc, I> piece;
  size_t entries;
  unsigned shift;

  /// How many of n samples come before index x; of an equal one `equal` says whether it does.
  __device__ size_t before(uint64_t x, bool equal, size_t n) const {
    return first_where<size_t>(0, n, [&](size_t j) {
      const uint64_t index = piece.at(j << shift);
      return index > x || (!equal && index == x);
    });
  }
  /// How many entries are below index x, of whose samples `rank` come before it.
  __device__ size_t below(uint64_t x, size_t rank) const {
    if (rank == 0) return 0;
    return first_where((rank - 1) << shift, std::min(rank << shift, entries),
                       [&](size_t j) { return piece.at(j) >= x; });
  }
};

/// A group of lanes, one for each piece, takes a sample.
template <class Acc, class I>
__global__ void __launch_bounds__(kThreads)
    find_cuts(const __grid_constant__ Together<Acc, I> pieces, Sampling sampling, unsigned lanes,
              Cuts cuts) {
  __shared__ uint64_t start[kTogether + 1];  // samples in front of those of each piece
  const unsigned count = pieces.count;
  const unsigned q = threadIdx.x % lanes;
  Samples<Acc, I> own{pieces.piece[std::min(q, count - 1)], 0, sampling.shift};
  own.entries = own.piece.nnz.get();
  const size_t own_samples = sampling.samples(own.entries);
  if (threadIdx.x < count) start[q + 1] = own_samples;
  __syncthreads();
  if (threadIdx.x == 0) {
    start[0] = 0;
    for (unsigned p = 0; p < count; ++p) start[p + 1] += start[p];
  }
  __syncthreads();
  const uint64_t all = start[count], tiles = (all + sampling.group - 1) / sampling.group;
  if (blockIdx.x == 0 && threadIdx.x < count) cuts.at[tiles * count + q] = own.entries;
  if (blockIdx.x == 0 && threadIdx.x == 0) *cuts.tiles = tiles;
  const unsigned at_once = 32 / lanes;  // samples that a warp takes
  const size_t step = size_t{gridDim.x} * kWarps * at_once;
  for (size_t first = (size_t{blockIdx.x} * kWarps + threadIdx.x / 32) * at_once; first < all;
       first += step) {
    const size_t s = std::min<size_t>(first + threadIdx.x % 32 / lanes, all - 1);
    const size_t p = piece_at(start, s, 0, count);
    const uint64_t x = pieces.piece[p].at((s - start[p]) << sampling.shift);
    const size_t before = q < count ? own.before(x, q < p, own_samples) : 0;
    uint64_t rank = before;
    for (unsigned lane = lanes / 2; lane > 0; lane /= 2)
      rank += __shfl_xor_sync(kFullWarp, rank, static_cast<int>(lane));
    if (rank % sampling.group == 0 && q < count)
      cuts.at[rank / sampling.group * count + q] = own.below(x, before);
  }
}

}  // namespace sparsecoll::cuda
