// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Results of blocks. Each function takes the launches of the one for single values
// (kernels/cuda/results.cuh).

#include "kernels/cuda/results.cuh"
#include "kernels/cuda/value_blocks/copy.cuh"

namespace sparsecoll::cuda {

/// Adds blocks to the residual: those whose index was delivered if `which.wanted`, else the others.
template <class Acc, class I>
__global__ void __launch_bounds__(kThreads)
    add_back_blocks(PutBack<Acc, I> which, size_t block_size) {
  for_entries(which.entries.nnz.get(), [&](size_t j) {
    const uint64_t index = which.entries.at(j);
    if (contains(which.delivered, index) != which.wanted) return;
    const Acc* const from = which.entries.value + j * block_size;
    Acc* const to = which.residual + index * block_size;
    for (size_t i = threadIdx.x % 32; i < block_size; i += 32) to[i] += from[i];
  });
}

template <class Acc, class I>
void put_back_blocks(Backend& backend, const Feedback& feedback, size_t block_size, Acc* residual) {
  using In = View<Acc, I>;
  const In sent(feedback.sent), delivered(feedback.delivered), dropped(feedback.dropped);
  const auto put_back = [&](const In& entries, bool wanted) {
    launch(backend, thread_blocks_of_entries(backend, entries.nnz.bound), add_back_blocks<Acc, I>,
           PutBack<Acc, I>{entries, delivered, wanted, residual}, block_size);
  };
  put_back(sent, false);
  if (feedback.rule == ResidualRule::conserving && dropped.nnz.bound > 0) put_back(dropped, true);
}

template <class T, class I>
__global__ void __launch_bounds__(kThreads) write_blocks(Scatter<T, I> scatter, size_t block_size) {
  for_entries(scatter.in.nnz.get(), [&](size_t j) {
    copy_block(scatter.in.value + j * block_size, block_size, scatter.to_result,
               scatter.dense + (scatter.in.at(j) - scatter.origin) * block_size);
  });
}

/// The region is one of blocks.
template <class T, class I>
void scatter_blocks(Backend& backend, const View<Accumulation<T>, I>& in, size_t block_size,
                    int divisor, const Region& region, T* dense) {
  zero(backend, dense, region.length() * block_size);
  launch(backend, thread_blocks_of_entries(backend, in.nnz.bound), write_blocks<T, I>,
         Scatter<T, I>{in, ToResult<T>{divisor}, region.begin, dense}, block_size);
}

}  // namespace sparsecoll::cuda
