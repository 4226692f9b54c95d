// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Selection from gradient + residual. If few entries of a long vector are wanted, the vector is
// sampled and filtered (filter.cuh), and the exact selection is made among the candidates.
// Otherwise the exact selection reads the whole vector (select.cuh). Both ways give the same
// result.

#include <cmath>

#include "kernels/cuda/select/filter.cuh"

namespace sparsecoll::cuda {

/// The keys of a sample: all elements of evenly spaced sectors. Memory is read in sectors of 32
/// bytes.
template <class T>
struct SampledKeys {
  static constexpr size_t kSector = 32 / sizeof(T);
  AccumulatedGradient<T> gradient;
  size_t sectors;  ///< sectors in the sample
  Share share;     ///< the part of the sample that this block reads; the kernel sets it

  __device__ size_t size() const { return share.end - share.begin; }
  __device__ uint64_t key(size_t j) const {
    const size_t at = share.begin + j, all = gradient.count / kSector;
    return key_of(gradient.at(at / kSector * all / sectors * kSector + at % kSector));
  }
};

/// Sets the filter's bound to the rank-th largest key of the sample, at least 1.
template <class T>
__global__ void __launch_bounds__(kThreads, kResidentBlocks)
    estimate_bound(SampledKeys<T> sample, uint64_t rank, SelectionWorkspace workspace,
                   FilterState* state) {
  __shared__ ThresholdStorage storage;
  sample.share = share_of_block(sample.sectors * SampledKeys<T>::kSector);
  const Threshold threshold =
      find_threshold<Accumulation<T>>(sample, rank, workspace.digits, storage);
  const uint64_t bound = threshold.key + (threshold.ties == 0 ? 1 : 0);
  publish(&state->bound, bound > 1 ? bound : 1);
}

/// The candidates in index order, as a source for compact(). A warp takes 32 tiles at a time.
template <class T>
struct CandidateSource {
  CandidateBuffer<T> buffer;

  template <class Visit>
  __device__ void for_rows(Visit& visit) const {
    const Share share = share_of_warp((buffer.tiles + 31) / 32);
    const unsigned lane = threadIdx.x % 32;
    for (size_t group = share.begin; group < share.end; ++group) {
      const size_t tile = group * 32 + lane;
      const TileCandidates own = tile < buffer.tiles ? buffer.table[tile] : TileCandidates{0, 0};
      // candidates of this tile and of the tiles before it in the group
      unsigned inclusive = own.count;
      for (unsigned step = 1; step < 32; step *= 2) {
        const unsigned more = __shfl_up_sync(kFullWarp, inclusive, step);
        if (lane >= step) inclusive += more;
      }
      const unsigned all = __shfl_sync(kFullWarp, inclusive, 31);
      for (unsigned row = 0; row < all; row += 32) {
        const unsigned number = row + lane;
        unsigned owner = 0;  // number of tiles whose candidates all come before this one
        for (unsigned step = 16; step > 0; step /= 2) {
          const unsigned end =
              __shfl_sync(kFullWarp, inclusive, static_cast<int>(owner + step - 1));
          if (end <= number) owner += step;
        }
        const bool valid = number < all;
        owner = valid ? owner : 0;
        const unsigned before =
            __shfl_sync(kFullWarp, inclusive - own.count, static_cast<int>(owner));
        const unsigned first = __shfl_sync(kFullWarp, own.first, static_cast<int>(owner));
        Entry<Accumulation<T>> entry{0, 0};
        if (valid) {
          const size_t at = size_t{first} + (number - before);
          entry = {(group * 32 + owner) * CandidateBuffer<T>::kTileItems + buffer.offset[at],
                   buffer.value[at]};
        }
        visit(entry, key_of(entry.value), valid);
      }
    }
  }
};

/// Writes the selected candidates to the result and returns the rejected ones to the residual.
template <class T, class I>
struct CandidateWriter {
  SelectedWriter<T, I> selected;

  __device__ void keep(uint64_t at, const Entry<Accumulation<T>>& entry) const {
    selected.keep(at, entry);
  }
  __device__ void reject(uint64_t, const Entry<Accumulation<T>>& entry) const {
    if (selected.next) selected.next[entry.index] = entry.value;
  }
};

/// Selects the k largest: among the candidates if there are enough, else from the whole vector.
template <class T, class V, class I>
__global__ void __launch_bounds__(kThreads, kResidentBlocks)
    select_candidates(GradientSelection<T, V, I> selection, uint64_t k, CandidateBuffer<T> buffer,
                      SelectionWorkspace workspace) {
  __shared__ ThresholdStorage storage;
  const FilterState& state = *buffer.state;
  const bool enough = state.found >= k || state.bound <= 1;
  if (state.reserved > buffer.capacity || !enough)
    return select_directly(selection, k, workspace, storage);
  const ValueKeys<Accumulation<T>> keys{buffer.value, share_of_block(state.reserved)};
  const Threshold threshold = find_threshold<Accumulation<T>>(keys, k, workspace.digits, storage);
  const SelectionCounts all = compact(CandidateSource<T>{buffer}, threshold,
                                      CandidateWriter<T, I>{selection.out}, workspace.counts);
  publish(selection.out.selected.nnz, all.kept(threshold.ties));
}

/// Selects all elements whose key reaches the bound. If they do not fit into the result, only their
/// number is stored.
template <class T, class V, class I>
__global__ void __launch_bounds__(kThreads, kResidentBlocks)
    select_candidates_above(GradientSelection<T, V, I> selection, uint64_t below,
                            CandidateBuffer<T> buffer, SelectionCounts* counts) {
  const FilterState& state = *buffer.state;
  if (state.found <= selection.out.selected.capacity) {
    if (state.reserved > buffer.capacity) return select_above_directly(selection, below, counts);
    compact(CandidateSource<T>{buffer}, {0, 0}, CandidateWriter<T, I>{selection.out}, counts);
  }
  publish(selection.out.selected.nnz, state.found);
}

/// Allocates a buffer for about `candidates` candidates, in whatever tiles they lie.
template <class T>
CandidateBuffer<T> make_candidate_buffer(Backend& backend, size_t count, size_t candidates) {
  const size_t warps = size_t{kResidentBlocks} * backend.multiprocessors() * kWarps;
  CandidateBuffer<T> buffer;
  buffer.tiles =
      count / CandidateBuffer<T>::kTileItems + (count % CandidateBuffer<T>::kTileItems != 0);
  // A warp that reserves new slots leaves fewer old ones unused than it needs next. At the end it
  // leaves at most one allocation unit unused.
  buffer.capacity = std::min({2 * candidates + warps * kAllocationUnit,
                              backend.tuning().candidate_capacity, size_t{0xffffffff}});
  buffer.value = backend.arena().take<Accumulation<T>>(buffer.capacity);
  buffer.offset = backend.arena().take<uint16_t>(buffer.capacity);
  buffer.table = backend.arena().take<TileCandidates>(buffer.tiles);
  buffer.state = zeroed<FilterState>(backend, 1);
  return buffer;
}

template <class T>
void run_filter(Backend& backend, const AccumulatedGradient<T>& sum,
                const CandidateBuffer<T>& buffer) {
  launch(backend, blocks_for(backend, buffer.tiles, kWarps), filter_candidates<T>, sum, buffer);
}

template <class T, class V, class I>
void sampled_select(Backend& backend, const Gradient& gradient, size_t k,
                    const SparseBuffer& selected) {
  const DeviceTuning& tuning = backend.tuning();
  const AccumulatedGradient<T> sum(gradient);
  const size_t sectors = std::min(tuning.sample_size, sum.count) / SampledKeys<T>::kSector;
  const double sampled = static_cast<double>(sectors * SampledKeys<T>::kSector);
  // Neighbouring elements are often alike, so the margin is larger than the five standard
  // deviations that independent samples need.
  const double expected = sampled * static_cast<double>(k) / static_cast<double>(sum.count);
  const double rank = expected + 9 * std::sqrt(expected) + 16;
  const double candidates = rank / sampled * static_cast<double>(sum.count);
  const CandidateBuffer<T> buffer =
      make_candidate_buffer<T>(backend, sum.count, static_cast<size_t>(1.5 * candidates));
  if (tuning.bound != 0)
    set_count(backend, &buffer.state->bound, tuning.bound);
  else
    launch_cooperative(backend, sectors / kThreads + 1, estimate_bound<T>,
                       SampledKeys<T>{sum, sectors, {}}, static_cast<uint64_t>(rank),
                       SelectionWorkspace(backend), buffer.state);
  run_filter(backend, sum, buffer);
  launch_cooperative(backend, buffer.capacity / (4 * kThreads) + 1, select_candidates<T, V, I>,
                     GradientSelection<T, V, I>(gradient, selected), uint64_t{k}, buffer,
                     SelectionWorkspace(backend));
}

/// Returns the largest key of type V that is below `key`, a key of the accumulation type.
template <class T, class V>
constexpr uint64_t largest_key_below(uint64_t key) {
  return (std::is_same_v<V, Accumulation<T>> ? key : narrow_key<T>(key)) - 1;
}

template <class T, class V, class I>
void filtered_select_above(Backend& backend, const Gradient& gradient, uint64_t key,
                           const SparseBuffer& selected) {
  const CandidateBuffer<T> buffer =
      make_candidate_buffer<T>(backend, gradient.count, selected.capacity);
  set_count(backend, &buffer.state->bound, key);
  run_filter(backend, AccumulatedGradient<T>(gradient), buffer);
  launch_cooperative(backend, buffer.capacity / (4 * kThreads) + 1,
                     select_candidates_above<T, V, I>,
                     GradientSelection<T, V, I>(gradient, selected), largest_key_below<T, V>(key),
                     buffer, allocate_block_counts(backend));
}

/// Returns whether the vector is long enough, and `wanted` small enough, for the filter pass to
/// pay.
inline bool worth_filtering(Backend& backend, size_t count, size_t wanted) {
  constexpr size_t kSector = 32;  // most elements in a sector of the sample
  return count >= std::max(backend.tuning().filter_from, kSector) && wanted <= count / 8;
}

template <class T, class I>
void accumulate_select(Backend& backend, const Gradient& gradient, size_t k,
                       const SparseBuffer& selected) {
  using Acc = Accumulation<T>;
  const Arena::Scope scope(backend.arena());
  const bool filters = worth_filtering(backend, gradient.count, k);
  const auto run = [&](auto compared) {
    using V = decltype(compared);
    if (filters)
      sampled_select<T, V, I>(backend, gradient, k, selected);
    else
      launch_cooperative(
          backend, gradient.count / (8 * kThreads) + 1, select_directly_kernel<T, V, I>,
          GradientSelection<T, V, I>(gradient, selected), uint64_t{k}, SelectionWorkspace(backend));
  };
  gradient.residual.write ? run(Acc{}) : run(T{});
}

template <class T, class I>
void accumulate_above(Backend& backend, const Gradient& gradient, uint64_t key,
                      const SparseBuffer& selected) {
  using Acc = Accumulation<T>;
  const Arena::Scope scope(backend.arena());
  const bool filters = worth_filtering(backend, gradient.count, selected.capacity);
  const auto run = [&](auto compared) {
    using V = decltype(compared);
    if (filters)
      filtered_select_above<T, V, I>(backend, gradient, key, selected);
    else
      launch_cooperative(backend, gradient.count / (8 * kThreads) + 1,
                         select_above_directly_kernel<T, V, I>,
                         GradientSelection<T, V, I>(gradient, selected),
                         largest_key_below<T, V>(key), allocate_block_counts(backend));
  };
  gradient.residual.write ? run(Acc{}) : run(T{});
}

}  // namespace sparsecoll::cuda
