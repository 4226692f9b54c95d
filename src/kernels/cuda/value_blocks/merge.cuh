// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sum of sorted vectors of blocks. Each sum is formed in the order of the inputs.
//
// 1. Sources. The vectors are merged as single values (merge/merge.cuh): the value of an entry of
//    input p is the bit 1 << p, so that the sum of an index says which inputs have it.
// 2. Sums. A warp takes one index at a time. Each lane searches it in the input of its number, all
//    lanes at once. Then the lanes add the blocks of these inputs, value by value in the order of
//    the inputs.
//
// The launches of a merge and two more. Every value is read once and every sum written once. More
// than kMaxInputs inputs are added in rounds.

#include "kernels/cuda/merge/merge.cuh"
#include "kernels/cuda/value_blocks/copy.cuh"

namespace sparsecoll::cuda {

/// The values of all entries are in one array, one input behind the other. Sets each to the bit of
/// its input.
struct SetSourceBits {
  size_t begin[kMaxInputs];  ///< the first entry of each input
  unsigned count;
  uint32_t* bits;
  __device__ void operator()(size_t j) const {
    const unsigned behind = first_where(1u, count, [&](unsigned p) { return begin[p] > j; });
    bits[j] = uint32_t{1} << (behind - 1);
  }
};

/// Computes the sums for the indices of `sources`, whose values say which inputs have them.
template <class Acc, class I>
__global__ void __launch_bounds__(kThreads)
    add_blocks(const __grid_constant__ MergeInputs<Acc, I> inputs, View<uint32_t, I> sources,
               size_t block_size, Acc* sums) {
  constexpr unsigned kEach = 4;  // values of a lane whose loads are issued together
  const unsigned lane = threadIdx.x % 32;
  for_entries(sources.nnz.get(), [&](size_t j) {
    const uint32_t bits = sources.value[j];
    uint64_t position = 0;  // of the index in the input of this lane
    if (bits >> lane & 1) {
      const View<Acc, I>& own = inputs.input[lane];
      position = lower_bound(own.index, own.nnz.get(), sources.index[j]);
    }
    Acc* const to = sums + j * block_size;
    for (size_t begin = lane; begin - lane < block_size; begin += kEach * 32) {
      Acc sum[kEach]{}, more[kEach]{};
      for (uint32_t rest = bits; rest != 0; rest &= rest - 1) {
        const int p = __ffs(rest) - 1;
        const uint64_t from = __shfl_sync(kFullWarp, position, p);
        const Acc* const block = inputs.input[p].value + from * block_size;
        for (unsigned e = 0; e < kEach; ++e)
          if (begin + e * 32 < block_size) more[e] = block[begin + e * 32];
        for (unsigned e = 0; e < kEach; ++e) sum[e] = rest == bits ? more[e] : sum[e] + more[e];
      }
      for (unsigned e = 0; e < kEach; ++e)
        if (begin + e * 32 < block_size) to[begin + e * 32] = sum[e];
    }
  });
}

/// Merges two to kMaxInputs vectors of blocks. `of_bits` are kernels of 32-bit integers.
template <class Acc, class I>
void merge_blocks_at_once(Backend& backend, Kernels& of_bits, std::span<const SparseSpan> spans,
                          size_t block_size, const SparseBuffer& out) {
  const Arena::Scope scope(backend.arena());
  const size_t all = bound_of(spans);
  SetSourceBits set{};
  set.count = static_cast<unsigned>(spans.size());
  set.bits = backend.arena().take<uint32_t>(all);
  std::array<SparseSpan, kMaxInputs> bits;
  size_t begin = 0;
  for (size_t p = 0; p < spans.size(); ++p) {
    set.begin[p] = begin;
    bits[p] = {spans[p].index, set.bits + begin, spans[p].nnz};
    begin += spans[p].nnz.bound;
  }
  for_each(backend, {nullptr, all}, set);
  const SparseBuffer sources{out.index, backend.arena().take<uint32_t>(out.capacity), out.nnz,
                             out.capacity};
  of_bits.merge(std::span<const SparseSpan>(bits).first(spans.size()), sources);
  launch(backend, thread_blocks_of_entries(backend, std::min(out.capacity, all)),
         add_blocks<Acc, I>, MergeInputs<Acc, I>(spans), View<uint32_t, I>(sources.span()),
         block_size, static_cast<Acc*>(out.value));
}

/// Merges vectors of blocks.
template <class Acc, class I>
void merge_blocks(Backend& backend, Kernels& of_bits, std::span<const SparseSpan> inputs,
                  size_t block_size, const SparseBuffer& sum) {
  if (inputs.size() < 2)
    return copy_all_blocks<Acc, I>(backend, inputs, block_size, Unchanged<Acc>{}, sum);
  const auto merge = [&](std::span<const SparseSpan> some, const SparseBuffer& out) {
    merge_blocks_at_once<Acc, I>(backend, of_bits, some, block_size, out);
  };
  if (inputs.size() <= kMaxInputs) return merge(inputs, sum);
  const auto allocate = [&](size_t capacity) {
    Arena& arena = backend.arena();
    return SparseBuffer{arena.take<I>(capacity), arena.take<Acc>(capacity * block_size),
                        arena.take<uint64_t>(1), capacity};
  };
  merge_in_rounds(backend, inputs, sum, allocate, merge);
}

}  // namespace sparsecoll::cuda
