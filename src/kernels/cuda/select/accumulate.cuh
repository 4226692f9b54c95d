// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Selection from gradient + residual: directly where the vector is short or most of it is wanted,
// and by staging (stage.cuh) where it is long.

#include <cmath>

#include "kernels/cuda/select/stage.cuh"

namespace sparsecoll::cuda {

/// Elements of a 32-byte sector, which is read whole, from evenly spaced sectors.
template <class T>
struct SampledKeys {
  static constexpr size_t kSector = 32 / sizeof(T);
  Sum<T> sum;
  size_t sectors;  ///< of the sample
  Share share;     ///< of the sample, this block's, which the kernel sets

  __device__ size_t size() const { return share.end - share.begin; }
  __device__ uint64_t key(size_t j) const {
    const size_t at = share.begin + j, all = sum.count / kSector;
    return key_of(sum.at(at / kSector * all / sectors * kSector + at % kSector));
  }
};

/// bound = the least key of the `rank` largest of the sample, at least 1.
template <class T>
__global__ void __launch_bounds__(kThreads, kResident)
    guess_bound(SampledKeys<T> sample, uint64_t rank, SelectScratch scratch, StageState* state) {
  __shared__ ThresholdStorage storage;
  sample.share = share_of_block(sample.sectors * SampledKeys<T>::kSector);
  const Threshold threshold =
      find_threshold<Accumulation<T>>(sample, rank, scratch.digits, storage);
  const uint64_t bound = threshold.key + (threshold.ties == 0 ? 1 : 0);
  publish(&state->bound, bound > 1 ? bound : 1);
}

/// The staged candidates in index order: a warp takes 32 strips at a time.
template <class T>
struct Candidates {
  Stage<T> stage;

  template <class Visit>
  __device__ void rows(Visit& visit) const {
    const Share share = share_of_warp((stage.strips + 31) / 32);
    const unsigned lane = threadIdx.x % 32;
    for (size_t group = share.begin; group < share.end; ++group) {
      const size_t strip = group * 32 + lane;
      const StripEntry own = strip < stage.strips ? stage.table[strip] : StripEntry{0, 0};
      unsigned upto = own.count;  // candidates of this strip and of those before it
      for (unsigned step = 1; step < 32; step *= 2) {
        const unsigned more = __shfl_up_sync(kFullWarp, upto, step);
        if (lane >= step) upto += more;
      }
      const unsigned all = __shfl_sync(kFullWarp, upto, 31);
      for (unsigned row = 0; row < all; row += 32) {
        const unsigned q = row + lane;
        unsigned owner = 0;  // strips whose candidates all come before number q
        for (unsigned step = 16; step > 0; step /= 2) {
          const unsigned end = __shfl_sync(kFullWarp, upto, static_cast<int>(owner + step - 1));
          if (end <= q) owner += step;
        }
        const bool valid = q < all;
        owner = valid ? owner : 0;
        const unsigned before = __shfl_sync(kFullWarp, upto - own.count, static_cast<int>(owner));
        const unsigned first = __shfl_sync(kFullWarp, own.first, static_cast<int>(owner));
        Entry<Accumulation<T>> entry{0, 0};
        if (valid) {
          const size_t at = size_t{first} + (q - before);
          entry = {(group * 32 + owner) * Stage<T>::kStrip + stage.offset[at], stage.value[at]};
        }
        visit(entry, key_of(entry.value), valid);
      }
    }
  }
};

/// What is selected is shipped, its residual is zero already; the others go back.
template <class T, class I>
struct ShipStaged {
  Ship<T, I> ship;

  __device__ void keep(uint64_t at, const Entry<Accumulation<T>>& entry) const {
    ship.keep(at, entry);
  }
  __device__ void leave(uint64_t, const Entry<Accumulation<T>>& entry) const {
    if (ship.next) ship.next[entry.index] = entry.value;
  }
};

/// The exact selection, among the candidates when they are enough, else in the whole vector.
template <class T, class V, class I>
__global__ void __launch_bounds__(kThreads, kResident)
    finish(Selection<T, V, I> task, uint64_t k, Stage<T> stage, SelectScratch scratch) {
  __shared__ ThresholdStorage storage;
  const StageState& state = *stage.state;
  const bool enough = state.found >= k || state.bound <= 1;
  if (state.taken > stage.room || !enough) return select_directly(task, k, scratch, storage);
  const Keys<Accumulation<T>> keys{stage.value, share_of_block(state.taken)};
  const Threshold threshold = find_threshold<Accumulation<T>>(keys, k, scratch.digits, storage);
  const SelectionCounts all =
      sieve(Candidates<T>{stage}, threshold, ShipStaged<T, I>{task.out}, scratch.counts);
  publish(task.out.selected.nnz, all.kept(threshold.ties));
}

/// Everything with a key of at least the bound; only counted where that is too much.
template <class T, class V, class I>
__global__ void __launch_bounds__(kThreads, kResident)
    finish_above(Selection<T, V, I> task, uint64_t below, Stage<T> stage, SelectionCounts* counts) {
  const StageState& state = *stage.state;
  if (state.found <= task.out.selected.capacity) {
    if (state.taken > stage.room) return select_above_directly(task, below, counts);
    sieve(Candidates<T>{stage}, {0, 0}, ShipStaged<T, I>{task.out}, counts);
  }
  publish(task.out.selected.nnz, state.found);
}

/// Workspace for about so many candidates, which may lie in any strips.
template <class T>
Stage<T> make_stage(Backend& backend, size_t count, size_t candidates) {
  const size_t warps = size_t{kResident} * backend.multiprocessors() * kWarps;
  Stage<T> stage;
  stage.strips = count / Stage<T>::kStrip + (count % Stage<T>::kStrip != 0);
  // A warp gives up less than it needs next, and at the end what it has reserved.
  stage.room =
      std::min({2 * candidates + warps * kReserved, backend.tuning().room, size_t{0xffffffff}});
  stage.value = backend.arena().take<Accumulation<T>>(stage.room);
  stage.offset = backend.arena().take<uint16_t>(stage.room);
  stage.table = backend.arena().take<StripEntry>(stage.strips);
  stage.state = zeroed<StageState>(backend, 1);
  return stage;
}

template <class T>
void stage_all(Backend& backend, const Sum<T>& sum, const Stage<T>& stage) {
  launch(backend, blocks_for(backend, stage.strips, kWarps), stage_candidates<T>, sum, stage);
}

template <class T, class V, class I>
void select_staged(Backend& backend, const Gradient& gradient, size_t k,
                   const SparseBuffer& selected) {
  const Tuning& tuning = backend.tuning();
  const Sum<T> sum(gradient);
  const size_t sectors = std::min(tuning.sample, sum.count) / SampledKeys<T>::kSector;
  const double sampled = static_cast<double>(sectors * SampledKeys<T>::kSector);
  // Elements of a sector are alike: more than the five deviations that independent ones need.
  const double expected = sampled * static_cast<double>(k) / static_cast<double>(sum.count);
  const double rank = expected + 9 * std::sqrt(expected) + 16;
  const double candidates = rank / sampled * static_cast<double>(sum.count);
  const Stage<T> stage = make_stage<T>(backend, sum.count, static_cast<size_t>(1.5 * candidates));
  if (tuning.bound != 0)
    set_count(backend, &stage.state->bound, tuning.bound);
  else
    launch_together(backend, sectors / kThreads + 1, guess_bound<T>,
                    SampledKeys<T>{sum, sectors, {}}, static_cast<uint64_t>(rank),
                    SelectScratch(backend), stage.state);
  stage_all(backend, sum, stage);
  launch_together(backend, stage.room / (4 * kThreads) + 1, finish<T, V, I>,
                  Selection<T, V, I>(gradient, selected), uint64_t{k}, stage,
                  SelectScratch(backend));
}

/// The largest key of values compared in V that does not reach `key`, which is one of sums.
template <class T, class V>
constexpr uint64_t last_below(uint64_t key) {
  return (std::is_same_v<V, Accumulation<T>> ? key : narrow_key<T>(key)) - 1;
}

template <class T, class V, class I>
void above_staged(Backend& backend, const Gradient& gradient, uint64_t key,
                  const SparseBuffer& selected) {
  const Stage<T> stage = make_stage<T>(backend, gradient.count, selected.capacity);
  set_count(backend, &stage.state->bound, key);
  stage_all(backend, Sum<T>(gradient), stage);
  launch_together(backend, stage.room / (4 * kThreads) + 1, finish_above<T, V, I>,
                  Selection<T, V, I>(gradient, selected), last_below<T, V>(key), stage,
                  take_counts(backend));
}

/// Whether few enough of a vector are wanted, and it is long enough.
inline bool worth_staging(Backend& backend, size_t count, size_t wanted) {
  constexpr size_t kSector = 32;  // elements of the sectors that a sample consists of, at most
  return count >= std::max(backend.tuning().staged_from, kSector) && wanted <= count / 8;
}

template <class T, class I>
void accumulate_select(Backend& backend, const Gradient& gradient, size_t k,
                       const SparseBuffer& selected) {
  using Acc = Accumulation<T>;
  const Arena::Scope scope(backend.arena());
  const bool staged = worth_staging(backend, gradient.count, k);
  const auto run = [&](auto compared) {
    using V = decltype(compared);
    if (staged)
      select_staged<T, V, I>(backend, gradient, k, selected);
    else
      launch_together(backend, gradient.count / (8 * kThreads) + 1, select_dense<T, V, I>,
                      Selection<T, V, I>(gradient, selected), uint64_t{k}, SelectScratch(backend));
  };
  gradient.residual.write ? run(Acc{}) : run(T{});
}

template <class T, class I>
void accumulate_above(Backend& backend, const Gradient& gradient, uint64_t key,
                      const SparseBuffer& selected) {
  using Acc = Accumulation<T>;
  const Arena::Scope scope(backend.arena());
  const bool staged = worth_staging(backend, gradient.count, selected.capacity);
  const auto run = [&](auto compared) {
    using V = decltype(compared);
    if (staged)
      above_staged<T, V, I>(backend, gradient, key, selected);
    else
      launch_together(backend, gradient.count / (8 * kThreads) + 1, select_above<T, V, I>,
                      Selection<T, V, I>(gradient, selected), last_below<T, V>(key),
                      take_counts(backend));
  };
  gradient.residual.write ? run(Acc{}) : run(T{});
}

}  // namespace sparsecoll::cuda
