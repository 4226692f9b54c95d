// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Copies of vectors of blocks (Kernels::block_size()). In this folder a block of values is an
// entry's; a block of threads is called a thread block.
//
// A warp takes one entry at a time. Adjacent lanes move adjacent values of its block, so that the
// accesses are coalesced whatever entries are taken. With blocks of fewer than 32 values some lanes
// are idle.

#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/merge/concatenate.cuh"

namespace sparsecoll::cuda {

/// Calls body(j) for every j below n, with all lanes of a warp together.
template <class Body>
__device__ void for_entries(size_t n, const Body& body) {
  const size_t warps = size_t{gridDim.x} * kWarps;
  for (size_t j = size_t{blockIdx.x} * kWarps + threadIdx.x / 32; j < n; j += warps) body(j);
}

/// Returns the number of thread blocks for n entries: as many as fit at once, or fewer.
inline size_t thread_blocks_of_entries(const Backend& backend, size_t n) {
  constexpr size_t kFull = 2048 / kThreads;
  return std::min(n / kWarps + 1, kFull * backend.multiprocessors());
}

/// Sets to[i] = convert(from[i]) for the values of a block, with all lanes of a warp.
template <class In, class Convert, class Out>
__device__ void copy_block(const In* from, size_t block_size, const Convert& convert, Out* to) {
  in_batches<32>(
      threadIdx.x % 32, block_size, [&](size_t i) { return from[i]; },
      [&](size_t i, In value) { to[i] = convert(value); });
}

/// Sets *values = *entries * block_size.
struct CountValues {
  const uint64_t* entries;
  size_t block_size;
  uint64_t* values;
  __device__ void operator()(size_t) const { *values = *entries * block_size; }
};

/// Returns the number of values of so many blocks.
inline Count values_of_blocks(Backend& backend, const Count& entries, size_t block_size) {
  const size_t bound = entries.bound * block_size;
  if (!entries.at) return {bound, nullptr};
  uint64_t* const values = backend.arena().take<uint64_t>(1);
  for_each(backend, {nullptr, 1}, CountValues{entries.at, block_size, values});
  return {bound, values};
}

/// Writes the entries `order.at(0)`, `order.at(1)`, ... of `in`. The values of `order` are not
/// read.
template <class Acc, class I, class Convert, class Out>
__global__ void __launch_bounds__(kThreads)
    copy_entries(View<Acc, I> in, View<uint64_t, I> order, size_t block_size, Convert convert,
                 Output<Out, I> out) {
  const size_t n = order.nnz.get();
  if (blockIdx.x == 0 && threadIdx.x == 0) *out.nnz = n;
  for_entries(n, [&](size_t j) {
    const uint64_t from = order.at(j);
    if (threadIdx.x % 32 == 0) out.index[j] = static_cast<I>(in.at(from));
    copy_block(in.value + from * block_size, block_size, convert, out.value + j * block_size);
  });
}

/// Writes the entries of `in` at the positions that `order` has as its indices; without indices,
/// as many of the first entries as `order` has.
template <class Acc, class I, class Out, class Convert>
void copy_entries_of(Backend& backend, const View<Acc, I>& in, const SparseSpan& order,
                     size_t block_size, const Convert& convert, const SparseBuffer& out) {
  launch(backend, thread_blocks_of_entries(backend, order.nnz.bound),
         copy_entries<Acc, I, Convert, Out>, in, View<uint64_t, I>(order), block_size, convert,
         Output<Out, I>(out));
}

template <class Acc, class I, class Convert>
__global__ void __launch_bounds__(kThreads)
    copy_input_blocks(Inputs<Acc, I> inputs, const uint64_t* start, size_t block_size,
                      Convert convert, Output<typename Convert::Result, I> out) {
  for_entries(start[inputs.count], [&](size_t j) {
    const size_t p = input_of(start, j, 0, inputs.count);
    const View<Acc, I> input = inputs.input[p];
    const size_t from = j - start[p];
    if (threadIdx.x % 32 == 0) out.index[j] = static_cast<I>(input.at(from));
    copy_block(input.value + from * block_size, block_size, convert, out.value + j * block_size);
  });
}

/// Joins vectors of blocks. As copy_all().
template <class Acc, class I, class Convert>
void copy_all_blocks(Backend& backend, std::span<const SparseSpan> spans, size_t block_size,
                     const Convert& convert, const SparseBuffer& out) {
  const Arena::Scope scope(backend.arena());
  const Inputs<Acc, I> inputs(backend, spans);
  uint64_t* const start = backend.arena().take<uint64_t>(spans.size() + 1);
  launch(backend, 1, find_starts<Acc, I>, inputs, start, out.nnz);
  launch(backend, thread_blocks_of_entries(backend, bound_of(spans)),
         copy_input_blocks<Acc, I, Convert>, inputs, start, block_size, convert,
         Output<typename Convert::Result, I>(out));
}

}  // namespace sparsecoll::cuda
