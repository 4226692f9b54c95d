// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Concatenation of sparse vectors:
//
// 1. Offsets. One block adds up the lengths of the inputs: where each begins in the output, and the
//    total.
// 2. Copy. All blocks copy the output chunk by chunk. For each chunk they look up once which inputs
//    it covers, usually one.
//
// Two launches, and one for every 120 inputs to pass their addresses. Every entry is read and
// written once.

#include "kernels/cuda/block.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/view.cuh"

namespace sparsecoll::cuda {

/// The inputs of one call, as an array on the device.
template <class Acc, class I>
struct Inputs {
  const View<Acc, I>* input;
  size_t count;

  Inputs(Backend& backend, std::span<const SparseSpan> spans)
      : input(upload_array<View<Acc, I>>(backend, spans.size(),
                                         [spans](size_t p) { return View<Acc, I>(spans[p]); })),
        count(spans.size()) {}
};

/// Returns the most entries that all inputs together can have.
inline size_t bound_of(std::span<const SparseSpan> inputs) {
  size_t bound = 0;
  for (const SparseSpan& input : inputs) bound += input.nnz.bound;
  return bound;
}

/// Sets start[p] to the number of entries before input p, and start[count] and *nnz to the total.
/// One block.
template <class Acc, class I>
__global__ void __launch_bounds__(kThreads)
    find_starts(Inputs<Acc, I> inputs, uint64_t* start, uint64_t* nnz) {
  __shared__ BlockSum<uint64_t>::Storage storage;
  uint64_t before = 0;
  for (size_t first = 0; first < inputs.count; first += kThreads) {
    const size_t p = first + threadIdx.x;
    uint64_t all = 0;
    const uint64_t own = p < inputs.count ? inputs.input[p].nnz.get() : 0;
    const uint64_t at = before + BlockSum<uint64_t>(storage).before(own, &all);
    if (p < inputs.count) start[p] = at;
    before += all;
  }
  if (threadIdx.x == 0) start[inputs.count] = *nnz = before;
}

/// Returns the input in [low, high) that contains entry j of the concatenation. start[low] is at
/// most j.
__device__ inline size_t input_of(const uint64_t* start, uint64_t j, size_t low, size_t high) {
  return first_where(low, high - 1, [&](size_t p) { return start[p + 1] > j; });
}

/// Leaves a value as it is.
template <class Acc>
struct Unchanged {
  using Result = Acc;
  __device__ Acc operator()(Acc value) const { return value; }
};

/// Converts a value to the tensor's type and makes NaNs canonical.
template <class T>
struct NarrowToTensorType {
  using Result = T;
  __device__ T operator()(Accumulation<T> value) const { return narrow<T>(canonical(value)); }
};

template <class Acc, class I, class Convert>
__global__ void __launch_bounds__(kThreads, kResidentLightBlocks)
    copy_inputs(Inputs<Acc, I> inputs, const uint64_t* start, Convert convert,
                Output<typename Convert::Result, I> out) {
  constexpr unsigned kEach = 4;
  constexpr size_t kChunk = kEach * kThreads;
  const uint64_t n = start[inputs.count];
  for (size_t begin = blockIdx.x * kChunk; begin < n; begin += gridDim.x * kChunk) {
    const size_t last = std::min<size_t>(begin + kChunk, n) - 1;
    const size_t first = input_of(start, begin, 0, inputs.count);
    const size_t end = input_of(start, last, first, inputs.count) + 1;
    uint64_t index[kEach];
    Acc value[kEach];
    for (unsigned e = 0; e < kEach; ++e) {  // all loads before the first store
      const size_t j = begin + e * kThreads + threadIdx.x;
      if (j > last) break;
      const size_t p = input_of(start, j, first, end);
      const View<Acc, I>& input = inputs.input[p];
      index[e] = input.at(j - start[p]);
      value[e] = input.value[j - start[p]];
    }
    for (unsigned e = 0; e < kEach; ++e) {
      const size_t j = begin + e * kThreads + threadIdx.x;
      if (j <= last) out.put(j, index[e], convert(value[e]));
    }
  }
}

template <class Acc, class I, class Convert>
void copy_all(Backend& backend, std::span<const SparseSpan> spans, const Convert& convert,
              const SparseBuffer& out) {
  const Arena::Scope scope(backend.arena());
  const Inputs<Acc, I> inputs(backend, spans);
  uint64_t* const start = backend.arena().take<uint64_t>(spans.size() + 1);
  launch(backend, 1, find_starts<Acc, I>, inputs, start, out.nnz);
  launch(backend, light_blocks_for(backend, bound_of(spans), 4 * kThreads),
         copy_inputs<Acc, I, Convert>, inputs, start, convert,
         Output<typename Convert::Result, I>(out));
}

template <class Acc, class I>
void concatenate(Backend& backend, std::span<const SparseSpan> inputs, const SparseBuffer& out) {
  copy_all<Acc, I>(backend, inputs, Unchanged<Acc>{}, out);
}

template <class T, class I>
void deliver_concatenated(Backend& backend, std::span<const SparseSpan> inputs,
                          const SparseBuffer& out) {
  copy_all<Accumulation<T>, I>(backend, inputs, NarrowToTensorType<T>{}, out);
}

}  // namespace sparsecoll::cuda
