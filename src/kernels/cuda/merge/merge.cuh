// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sum of sorted pieces: as if all entries were sorted by (index, piece) and every run of one index
// added from its first to its last.
//
// 1. Cuts (cuts.cuh). The pieces are cut at the same indices, so that there are as many entries as
//    a block takes at once, or not much fewer, between two cuts, whatever the data.
// 2. Tiles (tile.cuh). A block takes consecutive tiles. It sorts the entries of each and adds up
//    the runs; sums follow each other without gaps.
// 3. Joining. What the blocks have written moves together.
//
// Three launches, or only the second for so few entries that one tile holds them. Traffic: an entry
// of the input is read once, besides the searches; a sum is written, read and written again.
// Workspace: as much as the pieces may have. More than kTogether pieces are added in turns, the sum
// so far being the first piece of the next turn: the order of additions, and so every bit, is the
// same.
//
// Dense pieces: one launch, and one for the pieces' addresses; every element is read once and every
// sum written once.

#include <array>

#include "kernels/cuda/merge/tile.cuh"

namespace sparsecoll::cuda {

/// What the blocks of add_tiles() have written into `sums`, each from its own start on.
template <class Acc, class I>
struct Parts {
  Output<Acc, I> sums;
  uint64_t* start;
  uint64_t* length;
};

template <class Acc, class I>
__global__ void __launch_bounds__(kThreads, (Tile<Acc, I>::kBlocks))
    add_tiles(const __grid_constant__ Together<Acc, I> pieces, Cuts cuts, Parts<Acc, I> parts) {
  __shared__ Tile<Acc, I> tile;
  const unsigned count = pieces.count;
  const Share share = share_of(cuts.tiles ? *cuts.tiles : 1, blockIdx.x, gridDim.x);
  if (threadIdx.x < count) tile.piece[threadIdx.x] = pieces.piece[threadIdx.x];
  uint64_t start = 0;
  if (cuts.at && share.begin < share.end)  // as many sums as entries would fit from here on
    for (unsigned p = 0; p < count; ++p) start += cuts.at[share.begin * count + p];
  if (threadIdx.x == 0) parts.start[blockIdx.x] = start;
  I* index = parts.sums.index + start;
  Acc* value = parts.sums.value + start;
  uint64_t length = 0;
  for (size_t t = share.begin; t < share.end; ++t) {
    const unsigned runs = tile.add_up(cuts.at, t, count);
    for (unsigned r = threadIdx.x; r < runs; r += kThreads) {
      index[r] = tile.key[r];
      value[r] = tile.value[r];
    }
    index += runs;
    value += runs;
    length += runs;
    __syncthreads();
  }
  if (threadIdx.x == 0) parts.length[blockIdx.x] = length;
}

/// As many blocks as add_tiles() had.
template <class Acc, class I>
__global__ void __launch_bounds__(kThreads, kResident)
    join_parts(Parts<Acc, I> parts, Output<Acc, I> out) {
  __shared__ BlockSum<uint64_t>::Storage storage;
  BlockSum<uint64_t> sum(storage);
  const uint64_t to = sum_before(parts.length, blockIdx.x, sum);
  const uint64_t start = parts.start[blockIdx.x], length = parts.length[blockIdx.x];
  constexpr unsigned kEach = 4;
  for (uint64_t begin = threadIdx.x; begin < length; begin += kEach * kThreads) {
    I index[kEach];
    Acc value[kEach];
    for (unsigned e = 0; e < kEach; ++e) {  // all reads before the first write
      const uint64_t j = begin + e * kThreads;
      if (j >= length) break;
      index[e] = parts.sums.index[start + j];
      value[e] = parts.sums.value[start + j];
    }
    for (unsigned e = 0; e < kEach; ++e) {
      const uint64_t j = begin + e * kThreads;
      if (j < length) out.put(to + j, index[e], value[e]);
    }
  }
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) *out.nnz = to + length;
}

/// Of so few entries that one block takes them all at once.
template <class Acc, class I>
void merge_few(Backend& backend, std::span<const SparseSpan> spans, const SparseBuffer& out) {
  const Arena::Scope scope(backend.arena());
  const Parts<Acc, I> all{Output<Acc, I>(out), backend.arena().take<uint64_t>(1), out.nnz};
  launch(backend, 1, add_tiles<Acc, I>, Together<Acc, I>(spans), Cuts{}, all);
}

/// Of two to kTogether pieces.
template <class Acc, class I>
void merge_together(Backend& backend, std::span<const SparseSpan> spans, const SparseBuffer& out) {
  const size_t entries = bound_of(spans);
  if (entries <= kTile) return merge_few<Acc, I>(backend, spans, out);
  const Arena::Scope scope(backend.arena());
  Arena& arena = backend.arena();
  unsigned tile_bits = kSmallTileBits;  // every block that fits gets some, if there are enough
  while (tile_bits < kTileBits &&
         entries >> tile_bits > Tile<Acc, I>::kBlocks * backend.multiprocessors())
    ++tile_bits;
  const Sampling sampling(spans.size(), tile_bits);
  size_t samples = 0;
  for (const SparseSpan& span : spans) samples += sampling.samples(span.nnz.bound);
  const size_t tiles = (samples + sampling.group - 1) / sampling.group;
  const Cuts cuts{arena.take<uint64_t>(1), arena.take<uint64_t>((tiles + 1) * spans.size())};
  const Together<Acc, I> pieces(spans);
  const unsigned lanes = static_cast<unsigned>(std::bit_ceil(spans.size()));
  launch(backend, light_blocks_for(backend, samples, kThreads / lanes), find_cuts<Acc, I>, pieces,
         sampling, lanes, cuts);
  const size_t blocks = std::min(tiles, size_t{Tile<Acc, I>::kBlocks} * backend.multiprocessors());
  Parts<Acc, I> parts{};
  parts.sums.index = arena.take<I>(entries);
  parts.sums.value = arena.take<Acc>(entries);
  parts.start = arena.take<uint64_t>(blocks);
  parts.length = arena.take<uint64_t>(blocks);
  launch(backend, blocks, add_tiles<Acc, I>, pieces, cuts, parts);
  launch(backend, blocks, join_parts<Acc, I>, parts, Output<Acc, I>(out));
}

/// Of more pieces than go together.
template <class Acc, class I>
void merge_in_turns(Backend& backend, std::span<const SparseSpan> spans, const SparseBuffer& out) {
  const Arena::Scope scope(backend.arena());
  const size_t most = kTogether - 1, turns = (spans.size() - 1 + most - 1) / most;
  const size_t each = (spans.size() - 1 + turns - 1) / turns;  // besides the sum so far
  SparseBuffer room[2];
  for (SparseBuffer& one : room) {
    one.capacity = std::min(out.capacity, bound_of(spans));
    one.index = backend.arena().take<I>(one.capacity);
    one.value = backend.arena().take<Acc>(one.capacity);
    one.nnz = backend.arena().take<uint64_t>(1);
  }
  SparseSpan sum = spans[0];
  for (size_t done = 1, turn = 0; done < spans.size(); ++turn) {
    const size_t more = std::min(each, spans.size() - done);
    std::array<SparseSpan, kTogether> together{sum};
    std::copy_n(&spans[done], more, &together[1]);
    done += more;
    const SparseBuffer& to = done == spans.size() ? out : room[turn % 2];
    merge_together<Acc, I>(backend, std::span(together).first(more + 1), to);
    sum = to.span();
  }
}

/// Elements that are added by one thread lie kThreads apart.
template <class Acc, class I>
__global__ void __launch_bounds__(kThreads, kResidentLight)
    add_dense(Pieces<Acc, I> pieces, Acc* to, uint64_t* nnz) {
  constexpr unsigned kEach = 4;
  const size_t n = pieces.piece[0].nnz.get();
  if (blockIdx.x == 0 && threadIdx.x == 0) *nnz = n;
  for (size_t begin = size_t{blockIdx.x} * kEach * kThreads + threadIdx.x; begin < n;
       begin += size_t{gridDim.x} * kEach * kThreads) {
    Acc sum[kEach], more[kEach] = {};
    for (size_t p = 0; p < pieces.count; ++p) {
      const Acc* const value = pieces.piece[p].value;
      for (unsigned e = 0; e < kEach; ++e)
        if (const size_t i = begin + e * kThreads; i < n) more[e] = value[i];
      for (unsigned e = 0; e < kEach; ++e) sum[e] = p == 0 ? more[e] : sum[e] + more[e];
    }
    for (unsigned e = 0; e < kEach; ++e)
      if (const size_t i = begin + e * kThreads; i < n) to[i] = sum[e];
  }
}

template <class Acc, class I>
void merge(Backend& backend, std::span<const SparseSpan> pieces, const SparseBuffer& sum) {
  if (!sum.index) {
    const Arena::Scope scope(backend.arena());
    launch(backend, light_blocks_for(backend, pieces[0].nnz.bound, 4 * kThreads), add_dense<Acc, I>,
           Pieces<Acc, I>(backend, pieces), static_cast<Acc*>(sum.value), sum.nnz);
  } else if (pieces.size() < 2) {
    concatenate<Acc, I>(backend, pieces, sum);
  } else if (pieces.size() <= kTogether) {
    merge_together<Acc, I>(backend, pieces, sum);
  } else {
    merge_in_turns<Acc, I>(backend, pieces, sum);
  }
}

}  // namespace sparsecoll::cuda
