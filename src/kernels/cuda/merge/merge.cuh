// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sum of sorted sparse vectors. The result is as if all entries were sorted by (index, input) and
// every run of equal indices added from its first entry to its last.
//
// 1. Partition (partition.cuh). All inputs are cut at the same indices into tiles. A tile has about
//    as many entries as a block can hold, never more, whatever the data.
// 2. Tiles (tile.cuh). A block takes consecutive tiles and adds up the entries of each. The sums
//    of a block follow each other without gaps.
// 3. Join. The sums of all blocks move together.
//
// Three launches, or only the second if one tile holds all entries. An entry of the input is read
// once, apart from the searches. A sum is written, read and written again. The workspace holds as
// many entries as all inputs. More than kMaxInputs inputs are added in rounds: the sum so far is
// the first input of the next round. That keeps the order of additions, and so every bit.
//
// Dense inputs take one launch, and one to pass their addresses. Every element is read once and
// every sum written once.

#include <array>

#include "kernels/cuda/merge/tile.cuh"

namespace sparsecoll::cuda {

/// The output of add_tiles(): block b wrote length[b] sums from sums[start[b]] on.
template <class Acc, class I>
struct BlockSums {
  Output<Acc, I> sums;
  uint64_t* start;
  uint64_t* length;
};

template <class Acc, class I>
__global__ void __launch_bounds__(kThreads, (Tile<Acc, I>::kBlocks))
    add_tiles(const __grid_constant__ MergeInputs<Acc, I> inputs, TileBounds bounds,
              BlockSums<Acc, I> block_sums) {
  __shared__ Tile<Acc, I> tile;
  const unsigned count = inputs.count;
  const Share share = share_of(bounds.tile_count ? *bounds.tile_count : 1, blockIdx.x, gridDim.x);
  if (threadIdx.x < count) tile.input[threadIdx.x] = inputs.input[threadIdx.x];
  uint64_t start = 0;
  // the start leaves room for one sum per entry of the tiles before
  if (bounds.begin && share.begin < share.end)
    for (unsigned p = 0; p < count; ++p) start += bounds.begin[share.begin * count + p];
  if (threadIdx.x == 0) block_sums.start[blockIdx.x] = start;
  I* index = block_sums.sums.index + start;
  Acc* value = block_sums.sums.value + start;
  uint64_t length = 0;
  for (size_t t = share.begin; t < share.end; ++t) {
    const unsigned runs = tile.add_up(bounds, t, count);
    for (unsigned r = threadIdx.x; r < runs; r += kThreads) {
      index[r] = tile.key[r];
      value[r] = tile.value[r];
    }
    index += runs;
    value += runs;
    length += runs;
    __syncthreads();
  }
  if (threadIdx.x == 0) block_sums.length[blockIdx.x] = length;
}

/// Moves the sums of the blocks together. Needs as many blocks as add_tiles() had.
template <class Acc, class I>
__global__ void __launch_bounds__(kThreads, kResidentBlocks)
    join_block_sums(BlockSums<Acc, I> block_sums, Output<Acc, I> out) {
  __shared__ BlockSum<uint64_t>::Storage storage;
  BlockSum<uint64_t> sum(storage);
  const uint64_t to = sum_before(block_sums.length, blockIdx.x, sum);
  const uint64_t start = block_sums.start[blockIdx.x], length = block_sums.length[blockIdx.x];
  constexpr unsigned kEach = 4;
  for (uint64_t begin = threadIdx.x; begin < length; begin += kEach * kThreads) {
    I index[kEach];
    Acc value[kEach];
    for (unsigned e = 0; e < kEach; ++e) {  // all loads before the first store
      const uint64_t j = begin + e * kThreads;
      if (j >= length) break;
      index[e] = block_sums.sums.index[start + j];
      value[e] = block_sums.sums.value[start + j];
    }
    for (unsigned e = 0; e < kEach; ++e) {
      const uint64_t j = begin + e * kThreads;
      if (j < length) out.put(to + j, index[e], value[e]);
    }
  }
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) *out.nnz = to + length;
}

/// Merges inputs that fit into one tile together.
template <class Acc, class I>
void merge_few(Backend& backend, std::span<const SparseSpan> spans, const SparseBuffer& out) {
  const Arena::Scope scope(backend.arena());
  const BlockSums<Acc, I> all{Output<Acc, I>(out), backend.arena().take<uint64_t>(1), out.nnz};
  launch(backend, 1, add_tiles<Acc, I>, MergeInputs<Acc, I>(spans), TileBounds{}, all);
}

/// Merges two to kMaxInputs inputs.
template <class Acc, class I>
void merge_at_once(Backend& backend, std::span<const SparseSpan> spans, const SparseBuffer& out) {
  const size_t entries = bound_of(spans);
  if (entries <= kTile) return merge_few<Acc, I>(backend, spans, out);
  const Arena::Scope scope(backend.arena());
  Arena& arena = backend.arena();
  unsigned tile_bits = kSmallTileBits;  // small tiles if few entries are to be shared by all blocks
  while (tile_bits < kTileBits &&
         entries >> tile_bits > Tile<Acc, I>::kBlocks * backend.multiprocessors())
    ++tile_bits;
  const Sampling sampling(spans.size(), tile_bits);
  size_t samples = 0;
  for (const SparseSpan& span : spans) samples += sampling.samples(span.nnz.bound);
  const size_t tiles = (samples + sampling.group - 1) / sampling.group;
  const TileBounds bounds{arena.take<uint64_t>(1), arena.take<uint64_t>((tiles + 1) * spans.size()),
                          arena.take<uint64_t>(tiles + 1)};
  const MergeInputs<Acc, I> inputs(spans);
  const unsigned lanes = static_cast<unsigned>(std::bit_ceil(spans.size()));
  launch(backend, light_blocks_for(backend, samples, kThreads / lanes), partition_inputs<Acc, I>,
         inputs, sampling, lanes, bounds);
  const size_t blocks = std::min(tiles, size_t{Tile<Acc, I>::kBlocks} * backend.multiprocessors());
  BlockSums<Acc, I> block_sums{};
  block_sums.sums.index = arena.take<I>(entries);
  block_sums.sums.value = arena.take<Acc>(entries);
  block_sums.start = arena.take<uint64_t>(blocks);
  block_sums.length = arena.take<uint64_t>(blocks);
  launch(backend, blocks, add_tiles<Acc, I>, inputs, bounds, block_sums);
  launch(backend, blocks, join_block_sums<Acc, I>, block_sums, Output<Acc, I>(out));
}

/// Merges more than kMaxInputs inputs. `merge(inputs, out)` merges up to kMaxInputs of them, and
/// `allocate(capacity)` returns a buffer.
template <class Allocate, class Merge>
void merge_in_rounds(Backend& backend, std::span<const SparseSpan> spans, const SparseBuffer& out,
                     const Allocate& allocate, const Merge& merge) {
  const Arena::Scope scope(backend.arena());
  const size_t max_more = kMaxInputs - 1, rounds = (spans.size() - 1 + max_more - 1) / max_more;
  const size_t each = (spans.size() - 1 + rounds - 1) / rounds;  // new inputs of a round
  const size_t capacity = std::min(out.capacity, bound_of(spans));
  const SparseBuffer buffer[2] = {allocate(capacity), allocate(capacity)};
  SparseSpan sum = spans[0];
  for (size_t done = 1, round = 0; done < spans.size(); ++round) {
    const size_t more = std::min(each, spans.size() - done);
    std::array<SparseSpan, kMaxInputs> round_inputs{sum};
    std::copy_n(&spans[done], more, &round_inputs[1]);
    done += more;
    const SparseBuffer& to = done == spans.size() ? out : buffer[round % 2];
    merge(std::span<const SparseSpan>(round_inputs).first(more + 1), to);
    sum = to.span();
  }
}

/// Adds dense inputs. The elements of one thread lie kThreads apart.
template <class Acc, class I>
__global__ void __launch_bounds__(kThreads, kResidentLightBlocks)
    add_dense(Inputs<Acc, I> inputs, Acc* to, uint64_t* nnz) {
  constexpr unsigned kEach = 4;
  const size_t n = inputs.input[0].nnz.get();
  if (blockIdx.x == 0 && threadIdx.x == 0) *nnz = n;
  for (size_t begin = size_t{blockIdx.x} * kEach * kThreads + threadIdx.x; begin < n;
       begin += size_t{gridDim.x} * kEach * kThreads) {
    Acc sum[kEach], more[kEach] = {};
    for (size_t p = 0; p < inputs.count; ++p) {
      const Acc* const value = inputs.input[p].value;
      for (unsigned e = 0; e < kEach; ++e)
        if (const size_t i = begin + e * kThreads; i < n) more[e] = value[i];
      for (unsigned e = 0; e < kEach; ++e) sum[e] = p == 0 ? more[e] : sum[e] + more[e];
    }
    for (unsigned e = 0; e < kEach; ++e)
      if (const size_t i = begin + e * kThreads; i < n) to[i] = sum[e];
  }
}

template <class Acc, class I>
void merge(Backend& backend, std::span<const SparseSpan> inputs, const SparseBuffer& sum) {
  if (!sum.index) {
    const Arena::Scope scope(backend.arena());
    launch(backend, light_blocks_for(backend, inputs[0].nnz.bound, 4 * kThreads), add_dense<Acc, I>,
           Inputs<Acc, I>(backend, inputs), static_cast<Acc*>(sum.value), sum.nnz);
  } else if (inputs.size() < 2) {
    concatenate<Acc, I>(backend, inputs, sum);
  } else if (inputs.size() <= kMaxInputs) {
    merge_at_once<Acc, I>(backend, inputs, sum);
  } else {
    const auto allocate = [&](size_t capacity) {
      Arena& arena = backend.arena();
      return SparseBuffer{arena.take<I>(capacity), arena.take<Acc>(capacity),
                          arena.take<uint64_t>(1), capacity};
    };
    merge_in_rounds(backend, inputs, sum, allocate,
                    [&](std::span<const SparseSpan> some, const SparseBuffer& out) {
                      merge_at_once<Acc, I>(backend, some, out);
                    });
  }
}

}  // namespace sparsecoll::cuda
