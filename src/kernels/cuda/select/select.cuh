// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Selection: one cooperative launch that finds the threshold (threshold.cuh) and writes what passes
// it in index order (sieve.cuh). It reads its input once for each digit of the keys and twice for
// the writing, which is what short vectors and lists of entries need; the gradient of a large model
// is first thinned out (stage.cuh).

#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/select/sieve.cuh"
#include "kernels/cuda/select/threshold.cuh"

namespace sparsecoll::cuda {

/// Room for one tally of each block.
inline SelectionCounts* take_counts(Backend& backend) {
  return backend.arena().take<SelectionCounts>(size_t{kResident} * backend.multiprocessors());
}

/// Counts that the blocks of one launch share.
struct SelectScratch {
  Digits* digits;  ///< zeros at first
  SelectionCounts* counts;

  SelectScratch(Backend& backend)
      : digits(zeroed<Digits>(backend, 1)), counts(take_counts(backend)) {}
};

/// The last block, which knows all counts, publishes.
__device__ inline void publish(uint64_t* count, uint64_t value) {
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) *count = value;
}

// --- from a sparse vector

template <class V>
struct Entry {
  uint64_t index;
  V value;
};

template <class V, class I>
struct Entries {
  View<V, I> in;
  __device__ Entry<V> item(size_t j) const { return {in.at(j), in.value[j]}; }
  __device__ uint64_t key(const Entry<V>& entry) const { return key_of(entry.value); }
};

/// The keys of this block's values.
template <class V>
struct Keys {
  const V* value;
  Share share;
  __device__ size_t size() const { return share.end - share.begin; }
  __device__ uint64_t key(size_t j) const { return key_of(value[share.begin + j]); }
};

template <class Acc, class I>
struct SplitEntries {
  Output<Acc, I> kept;
  Output<Acc, I> dropped;
  __device__ void keep(uint64_t at, const Entry<Acc>& entry) const {
    kept.put(at, entry.index, entry.value);
  }
  __device__ void leave(uint64_t at, const Entry<Acc>& entry) const {
    if (dropped.capacity > 0) dropped.put(at, entry.index, entry.value);
  }
};

template <class Acc, class I>
__global__ void __launch_bounds__(kThreads, kResident)
    split_entries(View<Acc, I> in, uint64_t k, SplitEntries<Acc, I> out, SelectScratch scratch) {
  __shared__ ThresholdStorage storage;
  const size_t n = in.nnz.get();
  const Threshold threshold =
      find_threshold<Acc>(Keys<Acc>{in.value, share_of_block(n)}, k, scratch.digits, storage);
  const SelectionCounts all =
      sieve(InOrder<Entries<Acc, I>>{{in}, n}, threshold, out, scratch.counts);
  const uint64_t kept = all.kept(threshold.ties);
  publish(out.kept.nnz, kept);
  if (out.dropped.capacity > 0) publish(out.dropped.nnz, all.nonzero - kept);
}

template <class Acc, class I>
void top_k(Backend& backend, const View<Acc, I>& in, size_t k, const SparseBuffer& kept,
           const SparseBuffer& dropped) {
  const Arena::Scope scope(backend.arena());
  launch_together(backend, in.nnz.bound / (8 * kThreads) + 1, split_entries<Acc, I>, in,
                  uint64_t{k}, SplitEntries<Acc, I>{Output<Acc, I>(kept), Output<Acc, I>(dropped)},
                  SelectScratch(backend));
}

template <class Acc, class I>
__global__ void __launch_bounds__(kThreads, kResident)
    entries_above(View<Acc, I> in, Threshold threshold, Output<Acc, I> out,
                  SelectionCounts* counts) {
  const SelectionCounts all = sieve(InOrder<Entries<Acc, I>>{{in}, in.nnz.get()}, threshold,
                                    SplitEntries<Acc, I>{out, {}}, counts);
  publish(out.nnz, all.kept(threshold.ties));
}

template <class Acc, class I>
void above(Backend& backend, const View<Acc, I>& in, const Threshold& threshold,
           const SparseBuffer& out) {
  const Arena::Scope scope(backend.arena());
  launch_together(backend, in.nnz.bound / (8 * kThreads) + 1, entries_above<Acc, I>, in, threshold,
                  Output<Acc, I>(out), take_counts(backend));
}

// --- from a gradient and the residual

/// What is selected is shipped; what is left of it is the new residual.
template <class T, class I>
struct Ship {
  Accumulation<T>* next;  ///< the accumulation, which becomes the new residual; null: no feedback
  Output<Accumulation<T>, I> selected;

  template <class V>
  __device__ void keep(uint64_t at, const Entry<V>& entry) const {
    const Accumulation<T> value = sparsecoll::widen(entry.value);
    if (at < selected.capacity) selected.put(at, entry.index, shipped<T>(value));
    if (next) next[entry.index] = unshipped<T>(value);
  }
  template <class V>
  __device__ void leave(uint64_t, const Entry<V>&) const {}
};

/// The accumulation of one call, gradient + residual, and where the new residual goes.
template <class T>
struct Sum {
  const T* values;
  const Accumulation<T>* previous;  ///< null: all zero
  Accumulation<T>* next;            ///< null: without feedback
  size_t count;

  explicit Sum(const Gradient& gradient)
      : values(static_cast<const T*>(gradient.values)),
        previous(static_cast<const Accumulation<T>*>(gradient.residual.read)),
        next(static_cast<Accumulation<T>*>(gradient.residual.write)),
        count(gradient.count) {}

  __device__ Accumulation<T> at(size_t i) const {
    const Accumulation<T> value = sparsecoll::widen(values[i]);
    return previous ? value + previous[i] : value;
  }
};

/// One call's input and output. V: the type in which values are compared: T's own without feedback,
/// which has fewer digits, and the accumulation's with it.
template <class T, class V, class I>
struct Selection {
  Sum<T> sum;
  Ship<T, I> out;

  Selection(const Gradient& gradient, const SparseBuffer& selected)
      : sum(gradient), out{sum.next, Output<Accumulation<T>, I>(selected)} {}

  /// What to select from. With feedback the block writes the part of it that is its own.
  __device__ const V* prepare() const {
    if constexpr (std::is_same_v<V, Accumulation<T>>) {
      if (sum.next) {
        const Share share = share_of_block(sum.count);
        for (size_t i = share.begin + threadIdx.x; i < share.end; i += kThreads)
          sum.next[i] = sum.at(i);
        __syncthreads();
        return sum.next;
      }
    }
    if constexpr (std::is_same_v<V, T>) return sum.values;
    return nullptr;
  }
};

/// The k largest, by all threads of all blocks.
template <class T, class V, class I>
__device__ void select_directly(const Selection<T, V, I>& task, uint64_t k,
                                const SelectScratch& scratch, ThresholdStorage& storage) {
  const V* const from = task.prepare();
  const Threshold threshold =
      find_threshold<V>(Keys<V>{from, share_of_block(task.sum.count)}, k, scratch.digits, storage);
  const View<V, I> in(from, task.sum.count);
  const SelectionCounts all =
      sieve(InOrder<Entries<V, I>>{{in}, task.sum.count}, threshold, task.out, scratch.counts);
  publish(task.out.selected.nnz, all.kept(threshold.ties));
}

template <class T, class V, class I>
__global__ void __launch_bounds__(kThreads, kResident)
    select_dense(Selection<T, V, I> task, uint64_t k, SelectScratch scratch) {
  __shared__ ThresholdStorage storage;
  select_directly(task, k, scratch, storage);
}

/// What has a key above `below`, by all threads of all blocks.
template <class T, class V, class I>
__device__ void select_above_directly(const Selection<T, V, I>& task, uint64_t below,
                                      SelectionCounts* counts) {
  const V* const from = task.prepare();
  const View<V, I> in(from, task.sum.count);
  const SelectionCounts all =
      sieve(InOrder<Entries<V, I>>{{in}, task.sum.count}, {below, 0}, task.out, counts);
  publish(task.out.selected.nnz, all.above);
}

template <class T, class V, class I>
__global__ void __launch_bounds__(kThreads, kResident)
    select_above(Selection<T, V, I> task, uint64_t below, SelectionCounts* counts) {
  select_above_directly(task, below, counts);
}

}  // namespace sparsecoll::cuda
