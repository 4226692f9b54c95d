// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Direct selection: one cooperative launch finds the threshold (threshold.cuh) and writes the
// elements that pass it in index order (compact.cuh). It reads its input once for each radix digit
// and twice to write the result. That suits short vectors and sparse vectors. The gradient of a
// large model goes through a filter pass first (filter.cuh).

#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/select/compact.cuh"
#include "kernels/cuda/select/threshold.cuh"

namespace sparsecoll::cuda {

/// Allocates one SelectionCounts for each block of a launch.
inline SelectionCounts* allocate_block_counts(Backend& backend) {
  return backend.arena().take<SelectionCounts>(size_t{kResidentBlocks} * backend.multiprocessors());
}

/// Memory that the blocks of one launch share.
struct SelectionWorkspace {
  DigitCounts* digits;  ///< all zero at first
  SelectionCounts* counts;

  SelectionWorkspace(Backend& backend)
      : digits(zeroed<DigitCounts>(backend, 1)), counts(allocate_block_counts(backend)) {}
};

/// Stores a total from the last block, which knows the counts of all blocks.
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
struct EntrySource {
  View<V, I> in;
  __device__ Entry<V> item(size_t j) const { return {in.at(j), in.value[j]}; }
  __device__ uint64_t key(const Entry<V>& entry) const { return key_of(entry.value); }
};

/// The keys of this block's values.
template <class V>
struct ValueKeys {
  const V* value;
  Share share;
  __device__ size_t size() const { return share.end - share.begin; }
  __device__ uint64_t key(size_t j) const { return key_of(value[share.begin + j]); }
};

template <class Acc, class I>
struct KeptAndDropped {
  Output<Acc, I> kept;
  Output<Acc, I> dropped;
  __device__ void keep(uint64_t at, const Entry<Acc>& entry) const {
    kept.put(at, entry.index, entry.value);
  }
  __device__ void reject(uint64_t at, const Entry<Acc>& entry) const {
    if (dropped.capacity > 0) dropped.put(at, entry.index, entry.value);
  }
};

template <class Acc, class I>
__global__ void __launch_bounds__(kThreads, kResidentBlocks)
    top_k_entries(View<Acc, I> in, uint64_t k, KeptAndDropped<Acc, I> out,
                  SelectionWorkspace workspace) {
  __shared__ ThresholdStorage storage;
  const size_t n = in.nnz.get();
  const Threshold threshold = find_threshold<Acc>(ValueKeys<Acc>{in.value, share_of_block(n)}, k,
                                                  workspace.digits, storage);
  const SelectionCounts all =
      compact(ItemsInOrder<EntrySource<Acc, I>>{{in}, n}, threshold, out, workspace.counts);
  const uint64_t kept = all.kept(threshold.ties);
  publish(out.kept.nnz, kept);
  if (out.dropped.capacity > 0) publish(out.dropped.nnz, all.nonzero - kept);
}

template <class Acc, class I>
void top_k(Backend& backend, const View<Acc, I>& in, size_t k, const SparseBuffer& kept,
           const SparseBuffer& dropped) {
  const Arena::Scope scope(backend.arena());
  launch_cooperative(backend, in.nnz.bound / (8 * kThreads) + 1, top_k_entries<Acc, I>, in,
                     uint64_t{k},
                     KeptAndDropped<Acc, I>{Output<Acc, I>(kept), Output<Acc, I>(dropped)},
                     SelectionWorkspace(backend));
}

template <class Acc, class I>
__global__ void __launch_bounds__(kThreads, kResidentBlocks)
    entries_above(View<Acc, I> in, Threshold threshold, Output<Acc, I> out,
                  SelectionCounts* counts) {
  const SelectionCounts all = compact(ItemsInOrder<EntrySource<Acc, I>>{{in}, in.nnz.get()},
                                      threshold, KeptAndDropped<Acc, I>{out, {}}, counts);
  publish(out.nnz, all.kept(threshold.ties));
}

template <class Acc, class I>
void above(Backend& backend, const View<Acc, I>& in, const Threshold& threshold,
           const SparseBuffer& out) {
  const Arena::Scope scope(backend.arena());
  launch_cooperative(backend, in.nnz.bound / (8 * kThreads) + 1, entries_above<Acc, I>, in,
                     threshold, Output<Acc, I>(out), allocate_block_counts(backend));
}

// --- from a gradient and the residual

/// Writes the selected elements to the result. The residual keeps the rounding error of each.
template <class T, class I>
struct SelectedWriter {
  /// the accumulation, which becomes the new residual; null without feedback
  Accumulation<T>* next;
  Output<Accumulation<T>, I> selected;

  template <class V>
  __device__ void keep(uint64_t at, const Entry<V>& entry) const {
    const Accumulation<T> value = sparsecoll::widen(entry.value);
    if (at < selected.capacity) selected.put(at, entry.index, sent_part<T>(value));
    if (next) next[entry.index] = residual_part<T>(value);
  }
  template <class V>
  __device__ void reject(uint64_t, const Entry<V>&) const {}
};

/// The accumulation of one call (gradient + residual) and the buffer of the new residual.
template <class T>
struct AccumulatedGradient {
  const T* values;
  const Accumulation<T>* previous;  ///< the old residual; null: all zero
  Accumulation<T>* next;            ///< the new residual; null: no feedback
  size_t count;

  explicit AccumulatedGradient(const Gradient& gradient)
      : values(static_cast<const T*>(gradient.values)),
        previous(static_cast<const Accumulation<T>*>(gradient.residual.read)),
        next(static_cast<Accumulation<T>*>(gradient.residual.write)),
        count(gradient.count) {}

  __device__ Accumulation<T> at(size_t i) const {
    const Accumulation<T> value = sparsecoll::widen(values[i]);
    return previous ? value + previous[i] : value;
  }
};

/// Input and output of one call. V is the type in which values are compared: T without feedback,
/// because its keys have fewer digits; the accumulation type with feedback.
template <class T, class V, class I>
struct GradientSelection {
  AccumulatedGradient<T> gradient;
  SelectedWriter<T, I> out;

  GradientSelection(const Gradient& from, const SparseBuffer& selected)
      : gradient(from), out{gradient.next, Output<Accumulation<T>, I>(selected)} {}

  /// Returns the values to select from. With feedback, the block first writes its share of the
  /// accumulation to the new residual.
  __device__ const V* materialize() const {
    if constexpr (std::is_same_v<V, Accumulation<T>>) {
      if (gradient.next) {
        const Share share = share_of_block(gradient.count);
        for (size_t i = share.begin + threadIdx.x; i < share.end; i += kThreads)
          gradient.next[i] = gradient.at(i);
        __syncthreads();
        return gradient.next;
      }
    }
    if constexpr (std::is_same_v<V, T>) return gradient.values;
    return nullptr;
  }
};

/// Selects the k largest from the whole vector. All threads of all blocks must call it.
template <class T, class V, class I>
__device__ void select_directly(const GradientSelection<T, V, I>& selection, uint64_t k,
                                const SelectionWorkspace& workspace, ThresholdStorage& storage) {
  const V* const from = selection.materialize();
  const Threshold threshold = find_threshold<V>(
      ValueKeys<V>{from, share_of_block(selection.gradient.count)}, k, workspace.digits, storage);
  const View<V, I> in(from, selection.gradient.count);
  const SelectionCounts all =
      compact(ItemsInOrder<EntrySource<V, I>>{{in}, selection.gradient.count}, threshold,
              selection.out, workspace.counts);
  publish(selection.out.selected.nnz, all.kept(threshold.ties));
}

template <class T, class V, class I>
__global__ void __launch_bounds__(kThreads, kResidentBlocks)
    select_directly_kernel(GradientSelection<T, V, I> selection, uint64_t k,
                           SelectionWorkspace workspace) {
  __shared__ ThresholdStorage storage;
  select_directly(selection, k, workspace, storage);
}

/// Selects the elements whose key is above `below` from the whole vector. All threads of all blocks
/// must call it.
template <class T, class V, class I>
__device__ void select_above_directly(const GradientSelection<T, V, I>& selection, uint64_t below,
                                      SelectionCounts* counts) {
  const V* const from = selection.materialize();
  const View<V, I> in(from, selection.gradient.count);
  const SelectionCounts all =
      compact(ItemsInOrder<EntrySource<V, I>>{{in}, selection.gradient.count}, {below, 0},
              selection.out, counts);
  publish(selection.out.selected.nnz, all.above);
}

template <class T, class V, class I>
__global__ void __launch_bounds__(kThreads, kResidentBlocks)
    select_above_directly_kernel(GradientSelection<T, V, I> selection, uint64_t below,
                                 SelectionCounts* counts) {
  select_above_directly(selection, below, counts);
}

}  // namespace sparsecoll::cuda
