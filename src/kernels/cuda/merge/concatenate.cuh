// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pieces one after another:
//
// 1. One block adds up the pieces' counts: where each begins, and the count of all.
// 2. All blocks go through the output; for every stretch of it they look up once which pieces it
//    takes from, which is mostly one.
//
// Two launches, and one for each 120 pieces to make them known; every entry is read and written
// once.

#include "kernels/cuda/block.cuh"
#include "kernels/cuda/merge/table.cuh"
#include "kernels/cuda/view.cuh"

namespace sparsecoll::cuda {

/// The pieces of one call, on the device.
template <class Acc, class I>
struct Pieces {
  const View<Acc, I>* piece;
  size_t count;

  Pieces(Backend& backend, std::span<const SparseSpan> spans)
      : piece(table<View<Acc, I>>(backend, spans.size(),
                                  [spans](size_t p) { return View<Acc, I>(spans[p]); })),
        count(spans.size()) {}
};

/// How many entries they may have in all.
inline size_t bound_of(std::span<const SparseSpan> pieces) {
  size_t bound = 0;
  for (const SparseSpan& piece : pieces) bound += piece.nnz.bound;
  return bound;
}

/// start[p] = entries in front of piece p; start[count] = all = *nnz. One block.
template <class Acc, class I>
__global__ void __launch_bounds__(kThreads)
    find_starts(Pieces<Acc, I> pieces, uint64_t* start, uint64_t* nnz) {
  __shared__ BlockSum<uint64_t>::Storage storage;
  uint64_t before = 0;
  for (size_t first = 0; first < pieces.count; first += kThreads) {
    const size_t p = first + threadIdx.x;
    uint64_t all = 0;
    const uint64_t own = p < pieces.count ? pieces.piece[p].nnz.get() : 0;
    const uint64_t at = before + BlockSum<uint64_t>(storage).before(own, &all);
    if (p < pieces.count) start[p] = at;
    before += all;
  }
  if (threadIdx.x == 0) start[pieces.count] = *nnz = before;
}

/// The last of the starts [low, high) that is not above j, where the first is not.
__device__ inline size_t piece_at(const uint64_t* start, uint64_t j, size_t low, size_t high) {
  return first_where(low, high - 1, [&](size_t p) { return start[p + 1] > j; });
}

/// Copied as they are.
template <class Acc>
struct Same {
  using Result = Acc;
  __device__ Acc operator()(Acc value) const { return value; }
};

/// In the tensor's type, every NaN the canonical one.
template <class T>
struct Narrowed {
  using Result = T;
  __device__ T operator()(Accumulation<T> value) const { return narrow<T>(canonical(value)); }
};

template <class Acc, class I, class Convert>
__global__ void __launch_bounds__(kThreads, kResidentLight)
    copy_pieces(Pieces<Acc, I> pieces, const uint64_t* start, Convert convert,
                Output<typename Convert::Result, I> out) {
  constexpr unsigned kEach = 4;
  constexpr size_t kStretch = kEach * kThreads;
  const uint64_t n = start[pieces.count];
  for (size_t begin = blockIdx.x * kStretch; begin < n; begin += gridDim.x * kStretch) {
    const size_t last = std::min<size_t>(begin + kStretch, n) - 1;
    const size_t first = piece_at(start, begin, 0, pieces.count);
    const size_t end = piece_at(start, last, first, pieces.count) + 1;
    uint64_t index[kEach];
    Acc value[kEach];
    for (unsigned e = 0; e < kEach; ++e) {  // all reads before the first write
      const size_t j = begin + e * kThreads + threadIdx.x;
      if (j > last) break;
      const size_t p = piece_at(start, j, first, end);
      const View<Acc, I>& piece = pieces.piece[p];
      index[e] = piece.at(j - start[p]);
      value[e] = piece.value[j - start[p]];
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
  const Pieces<Acc, I> pieces(backend, spans);
  uint64_t* const start = backend.arena().take<uint64_t>(spans.size() + 1);
  launch(backend, 1, find_starts<Acc, I>, pieces, start, out.nnz);
  launch(backend, light_blocks_for(backend, bound_of(spans), 4 * kThreads),
         copy_pieces<Acc, I, Convert>, pieces, start, convert,
         Output<typename Convert::Result, I>(out));
}

template <class Acc, class I>
void concatenate(Backend& backend, std::span<const SparseSpan> pieces, const SparseBuffer& out) {
  copy_all<Acc, I>(backend, pieces, Same<Acc>{}, out);
}

template <class T, class I>
void hand_over(Backend& backend, std::span<const SparseSpan> pieces, const SparseBuffer& out) {
  copy_all<Accumulation<T>, I>(backend, pieces, Narrowed<T>{}, out);
}

}  // namespace sparsecoll::cuda
