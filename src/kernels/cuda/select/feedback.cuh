// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What happens to a result: it is handed out, and what it lacks goes back to the residual.
//
// put_back, two launches, one where nothing can have been dropped or the rule does not want it:
//   1. every entry sent looks itself up among the delivered ones; where it is not, it is added to
//      the residual;
//   2. every entry dropped does the same; where it is, it is added.
// Indices of one vector are all different, so that no two threads add to one value, and the second
// launch adds after the first. Neighbours search along the same path, most of it in the cache.
//
// deliver, one launch, and scatter, a fill and a launch, or one launch of a dense input: every
// entry is read and written once.
//
// check_indices, a fill and a launch: reads every index once, and its predecessor from the cache.

#include "kernels/cuda/block.cuh"
#include "kernels/cuda/elementwise.cuh"

namespace sparsecoll::cuda {

/// Whether an index is among the rising ones of a vector.
template <class Acc, class I>
__device__ bool contains(const View<Acc, I>& view, uint64_t index) {
  const size_t n = view.nnz.get();
  if (!view.index) return index < n;
  const size_t j = lower_bound(view.index, n, index);
  return j < n && view.index[j] == index;
}

/// Adds those entries to the residual that were delivered, or those that were not.
template <class Acc, class I>
struct PutBack {
  View<Acc, I> entries;
  View<Acc, I> delivered;
  bool wanted;  ///< those that were
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

/// A value as it leaves the library.
template <class T>
struct Finish {
  int divisor;
  __device__ T operator()(Accumulation<T> value) const { return finished<T>(value, divisor); }
};

template <class T, class I>
__global__ void __launch_bounds__(kThreads)
    deliver_entries(View<Accumulation<T>, I> in, Finish<T> finish, Output<T, I> out) {
  const size_t n = in.nnz.get(), first = size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (first == 0) *out.nnz = n;
  for (size_t j = first; j < n; j += size_t{gridDim.x} * kThreads)
    out.put(j, in.at(j), finish(in.value[j]));
}

template <class T, class I>
void deliver(Backend& backend, const View<Accumulation<T>, I>& in, int divisor,
             const SparseBuffer& out) {
  launch(backend, blocks_of_items(backend, in.nnz.bound), deliver_entries<T, I>, in,
         Finish<T>{divisor}, Output<T, I>(out));
}

template <class T, class I>
struct Scatter {
  View<Accumulation<T>, I> in;
  Finish<T> finish;
  T* dense;
  __device__ void operator()(size_t j) const { dense[in.at(j)] = finish(in.value[j]); }
};

template <class T, class I>
void scatter(Backend& backend, const View<Accumulation<T>, I>& in, int divisor,
             std::span<T> dense) {
  const Finish<T> finish{divisor};
  if (!in.index) return map(backend, in.nnz, finish, dense.data(), in.value);
  zero(backend, dense.data(), dense.size());
  for_each(backend, in.nnz, Scatter<T, I>{in, finish, dense.data()});
}

template <class Acc, class I>
__global__ void __launch_bounds__(kThreads)
    find_bad_index(View<Acc, I> in, uint64_t count, unsigned long long* first_bad) {
  const size_t n = in.nnz.get(), first = size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (first == 0) atomicMin(first_bad, n);
  for (size_t j = first; j < n; j += size_t{gridDim.x} * kThreads) {
    const uint64_t index = in.at(j);
    if (index < count && (j == 0 || in.at(j - 1) < index)) continue;
    atomicMin(first_bad, j);
    return;
  }
}

template <class Acc, class I>
void check_indices(Backend& backend, const View<Acc, I>& in, uint64_t count, uint64_t* first_bad) {
  check(cudaMemsetAsync(first_bad, 0xff, sizeof *first_bad, backend.stream()), "cudaMemsetAsync");
  launch(backend, blocks_of_items(backend, in.nnz.bound), find_bad_index<Acc, I>, in, count,
         reinterpret_cast<unsigned long long*>(first_bad));
}

}  // namespace sparsecoll::cuda
