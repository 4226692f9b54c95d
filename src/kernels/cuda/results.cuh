// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Results: error feedback after a collective, delivery to the caller, and the check of a caller's
// indices.
//
// put_back takes two launches; one if nothing can have been dropped or the rule does not need it.
//   1. Every sent entry is searched among the delivered entries. If it is absent, it is added to
//      the residual.
//   2. Every dropped entry is searched among the delivered entries. If it is there, it is added to
//      the residual.
// The indices of a vector are distinct, so no two threads add to one value, and the second launch
// adds after the first. Adjacent threads search along the same path, most of it in the cache.
//
// deliver takes one launch. scatter takes a fill and a launch, or one launch for a dense input.
// Both read and write every entry once.
//
// check_indices takes a fill and a launch. It reads every index once, and its predecessor from the
// cache.

#include "kernels/cuda/block.cuh"
#include "kernels/cuda/elementwise.cuh"

namespace sparsecoll::cuda {

/// Returns whether a vector, whose indices rise, has an entry with this index.
template <class Acc, class I>
__device__ bool contains(const View<Acc, I>& view, uint64_t index) {
  const size_t n = view.nnz.get();
  if (!view.index) return index < n;
  const size_t j = lower_bound(view.index, n, index);
  return j < n && view.index[j] == index;
}

/// Adds to the residual the entries whose index was delivered, or those whose index was not.
template <class Acc, class I>
struct PutBack {
  View<Acc, I> entries;
  View<Acc, I> delivered;
  bool wanted;  ///< true: entries that were delivered; false: the others
  Acc* residual;
  __device__ void operator()(size_t j) const {
    const uint64_t index = entries.at(j);
    if (contains(delivered, index) == wanted) residual[index] += entries.value[j];
  }
};

template <class Acc, class I>
void put_back(Backend& backend, const Feedback& feedback, Acc* residual) {
  using In = View<Acc, I>;
  const In sent(feedback.sent), delivered(feedback.delivered), dropped(feedback.dropped);
  for_each(backend, sent.nnz, PutBack<Acc, I>{sent, delivered, false, residual});
  switch (feedback.rule) {
    case ResidualRule::paper:
      return;
    case ResidualRule::conserving:
      if (dropped.nnz.bound > 0)
        for_each(backend, dropped.nnz, PutBack<Acc, I>{dropped, delivered, true, residual});
      return;
  }
}

/// Converts a value of the accumulation type to a result in the tensor's type.
template <class T>
struct ToResult {
  int divisor;
  __device__ T operator()(Accumulation<T> value) const { return result_value<T>(value, divisor); }
};

template <class T, class I>
__global__ void __launch_bounds__(kThreads)
    deliver_entries(View<Accumulation<T>, I> in, ToResult<T> to_result, Output<T, I> out) {
  const size_t n = in.nnz.get(), first = size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (first == 0) *out.nnz = n;
  for (size_t j = first; j < n; j += size_t{gridDim.x} * kThreads)
    out.put(j, in.at(j), to_result(in.value[j]));
}

template <class T, class I>
void deliver(Backend& backend, const View<Accumulation<T>, I>& in, int divisor,
             const SparseBuffer& out) {
  launch(backend, blocks_of_items(backend, in.nnz.bound), deliver_entries<T, I>, in,
         ToResult<T>{divisor}, Output<T, I>(out));
}

template <class T, class I>
struct Scatter {
  View<Accumulation<T>, I> in;
  ToResult<T> to_result;
  uint64_t origin;  ///< the index of the first element of `dense`
  T* dense;
  __device__ void operator()(size_t j) const { dense[in.at(j) - origin] = to_result(in.value[j]); }
};

template <class T, class I>
void scatter(Backend& backend, const View<Accumulation<T>, I>& in, int divisor,
             const Region& region, T* dense) {
  const ToResult<T> to_result{divisor};
  if (!in.index) return map(backend, in.nnz, to_result, dense, in.value);
  zero(backend, dense, region.length());
  for_each(backend, in.nnz, Scatter<T, I>{in, to_result, region.begin, dense});
}

template <class Acc, class I>
__global__ void __launch_bounds__(kThreads)
    find_bad_index(View<Acc, I> in, Region region, unsigned long long* first_bad) {
  const size_t n = in.nnz.get(), first = size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (first == 0) atomicMin(first_bad, n);
  for (size_t j = first; j < n; j += size_t{gridDim.x} * kThreads) {
    const uint64_t index = in.at(j);
    if (index >= region.begin && index < region.end && (j == 0 || in.at(j - 1) < index)) continue;
    atomicMin(first_bad, j);
    return;
  }
}

template <class Acc, class I>
void check_indices(Backend& backend, const View<Acc, I>& in, const Region& region,
                   uint64_t* first_bad) {
  check(cudaMemsetAsync(first_bad, 0xff, sizeof *first_bad, backend.stream()), "cudaMemsetAsync");
  launch(backend, blocks_of_items(backend, in.nnz.bound), find_bad_index<Acc, I>, in, region,
         reinterpret_cast<unsigned long long*>(first_bad));
}

}  // namespace sparsecoll::cuda
