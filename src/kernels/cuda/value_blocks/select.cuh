// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Selection among blocks. Their keys (kernels/block_key.hpp) are computed in one launch, and are
// selected from as integers, which are their own keys. One more launch copies the selected blocks.
// The values are read once for the keys; those of selected blocks once more.
//
// One thread forms the sum of a block's squares, because they are added in one order. A warp reads
// 32 blocks at a time through shared memory, a few values of each, so that its accesses are
// coalesced.

#include "kernels/block_key.hpp"
#include "kernels/cuda/value_blocks/copy.cuh"

namespace sparsecoll::cuda {

template <class Acc>
__global__ void __launch_bounds__(kThreads, kResidentBlocks)
    find_block_keys(const Acc* values, Length length, size_t block_size, uint64_t* keys) {
  constexpr unsigned kColumns = 16;  // values of a block that a warp reads at once
  __shared__ Acc of_warp[kWarps][32][kColumns + 1];
  auto& tile = of_warp[threadIdx.x / 32];
  const size_t n = length.get(), warps = size_t{gridDim.x} * kWarps;
  const unsigned lane = threadIdx.x % 32, column = lane % kColumns;
  for (size_t first = (size_t{blockIdx.x} * kWarps + threadIdx.x / 32) * 32; first < n;
       first += warps * 32) {
    BlockKey key;
    for (size_t begin = 0; begin < block_size; begin += kColumns) {
      const auto width = static_cast<unsigned>(std::min<size_t>(kColumns, block_size - begin));
      for (unsigned row = lane / kColumns; row < 32; row += 32 / kColumns)
        if (first + row < n && column < width)
          tile[row][column] = values[(first + row) * block_size + begin + column];
      __syncwarp();
      if (first + lane < n)
        for (unsigned c = 0; c < width; ++c) key.add(tile[lane][c]);
      __syncwarp();  // before the next values overwrite these
    }
    if (first + lane < n) keys[first + lane] = key.get();
  }
}

/// Returns the keys of the blocks of a vector as the values of a dense vector.
template <class Acc>
SparseSpan block_keys(Backend& backend, const void* values, const Count& nnz, size_t block_size) {
  uint64_t* const keys = backend.arena().take<uint64_t>(nnz.bound);
  launch(backend, blocks_for(backend, nnz.bound, kThreads), find_block_keys<Acc>,
         static_cast<const Acc*>(values), Length{nnz.at, nnz.bound}, block_size, keys);
  return {nullptr, keys, nnz};
}

/// Copies the selected blocks of acc, as they are sent, to `selected`, whose indices and length are
/// set. Leaves in acc what stays in the residual.
template <class T, class I>
__global__ void __launch_bounds__(kThreads)
    take_selected_blocks(Accumulation<T>* acc, size_t block_size,
                         Output<Accumulation<T>, I> selected) {
  using Acc = Accumulation<T>;
  for_entries(*selected.nnz, [&](size_t j) {
    Acc* const block = acc + uint64_t{selected.index[j]} * block_size;
    Acc* const to = selected.value + j * block_size;
    in_batches<32>(
        threadIdx.x % 32, block_size, [&](size_t i) { return block[i]; },
        [&](size_t i, Acc value) {
          const Acc sent = delivered(sent_part<T>(value));
          to[i] = sent;
          block[i] = finite(value) ? value - sent : Acc{0};
        });
  });
}

/// Selects the k largest blocks of acc = gradient + residual. The gradient's count is in blocks.
/// `of_keys` are kernels of 64-bit integers.
template <class T, class I>
void accumulate_select_blocks(Backend& backend, Kernels& of_keys, const Gradient& gradient,
                              size_t block_size, size_t k, const SparseBuffer& selected) {
  using Acc = Accumulation<T>;
  const Arena::Scope scope(backend.arena());
  const size_t values = gradient.count * block_size;
  auto* const next = static_cast<Acc*>(gradient.residual.write);
  Acc* const acc = next ? next : backend.arena().take<Acc>(values);
  accumulate<T>(backend, {gradient.values, values, gradient.residual}, acc);
  const SparseSpan keys = block_keys<Acc>(backend, acc, {gradient.count, nullptr}, block_size);
  of_keys.top_k(keys, k,
                {selected.index, backend.arena().take<uint64_t>(selected.capacity), selected.nnz,
                 selected.capacity},
                SparseBuffer{});
  launch(backend, thread_blocks_of_entries(backend, selected.capacity), take_selected_blocks<T, I>,
         acc, block_size, Output<Acc, I>(selected));
}

}  // namespace sparsecoll::cuda
