// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Selection from long vectors of floating-point values, at the speed of memory. Only one of four
// stages reads the whole vector:
//
//   K0. Sample: estimate a bound, a key that a little more than k entries reach
//       (sampled_select.hpp).
//   K1. Filter, in one pass: acc = gradient + residual becomes the new residual, and the entries
//       that reach the bound become candidates, by index. Each thread takes chunks of the vector.
//       If a chunk's memory for candidates is full, its k largest stay and its bound rises above
//       the least of them. A later tie with that one would lose, since ties go to the lowest index.
//   K2. Find the k-th largest key of the candidates. If they are k or more, it is that of
//       the vector, because all entries that reach the bound are candidates.
//   K3. Write the entries that pass, in order. Give the others back to the residual.
//
// The values of the gradient may be the sum of several vectors. K1 adds them block by block and
// filters the sum while it is in the caches.
//
// If the candidates are fewer than k, the bound was too high. Then all keys are counted to find a
// bound, and K1 runs again. So the result never depends on the sample, the memory, the chunks or
// the level of vector instructions: it is that of the plain loops (select.hpp).

#include <algorithm>
#include <span>

#include "kernels/host/block_sum.hpp"
#include "kernels/host/candidates.hpp"
#include "kernels/host/select.hpp"

namespace sparsecoll::host {

/// Elements between two checks of the memory that is left for candidates.
constexpr size_t kBlock = 4096;
/// Elements between two checks of the deadline; they take less than a millisecond.
constexpr size_t kLook = size_t{1} << 20;
/// The residual of a candidate is prefetched this many candidates before it is used.
constexpr size_t kAhead = 64;
/// If more than one of this many elements is a candidate, the filter does not branch for each.
constexpr size_t kRare = 333;

/// Says what a full chunk does with its candidates: `returned` keeps the k largest and gives the
/// others back to the residual; `counted` drops all of them and keeps only their number.
enum class Overflow { returned, counted };

/// Stages K1 to K3 of one call. Keys are of the accumulation type.
template <class T>
class CandidateSelection {
  using Acc = Accumulation<T>;

 public:
  /// `vectors`: the sum of these is the gradient, whose values are null and which has a residual.
  /// `most`: memory is taken for a selection of that many entries, if these are more than k.
  CandidateSelection(Backend& backend, const Gradient& gradient, size_t k, Overflow overflow,
                     SummedVectors* vectors = nullptr, size_t most = 0)
      : backend_(backend),
        values_(static_cast<const T*>(gradient.values)),
        previous_(static_cast<const Acc*>(gradient.residual.read)),
        next_(static_cast<Acc*>(gradient.residual.write)),
        count_(gradient.count),
        k_(k),
        most_(std::max(k, most)),
        overflow_(overflow),
        streaming_(next_ && backend.is_beyond_caches(count_ * sizeof(Acc))),
        fast_(filter_of(backend.filters(), T{})),
        slow_(filter_of(portable_filters(), T{})),
        chunks_(backend.arena().take_span<Chunk<Acc>>(backend.chunks(count_))),
        filtered_(backend.arena().take<FilteredValues<T>>(chunks_.size()), chunks_.size()),
        keys_(backend.arena().take<Key<Acc>>(scratch_keys()), scratch_keys()) {
    const size_t least = most_ + kBlock + kRow;
    const size_t wanted =
        backend.tuning().chunk_capacity != 0 ? backend.tuning().chunk_capacity : least + most_;
    for (size_t s = 0; s < chunks_.size(); ++s) {
      Chunk<Acc>& each = chunks_[s];
      each.begin = cut(count_, chunks_.size(), s);
      each.end = cut(count_, chunks_.size(), s + 1);
      each.capacity = std::min(std::max(wanted, least), each.end - each.begin + kRow);
      each.index = backend.arena().template take<uint32_t>(each.capacity);
      each.value = backend.arena().template take<Acc>(each.capacity);
      new (&filtered_[s]) FilteredValues<T>(values_, vectors, backend);
    }
  }

  /// K1. Throws Timeout if the deadline passes.
  void filter(uint64_t bound) {
    backend_.run(chunks_.size(), [&](size_t s) { filter_chunk(s, bound); });
    if (count_ > kLook) refuse_passed(backend_.deadline());
  }

  /// Returns whether K1 could read all vectors.
  bool has_read() const { return std::ranges::none_of(filtered_, &FilteredValues<T>::failed); }

  /// Returns the number of candidates.
  size_t found() const {
    size_t total = 0;
    for (const Chunk<Acc>& each : chunks_) total += each.discarded + each.found;
    return total;
  }

  /// Returns a bound that at least k entries reach, by counting all keys. Gives the candidates back
  /// to the residual, so that K1 can run again.
  uint64_t certain_bound() {
    for (const Chunk<Acc>& each : chunks_)
      for (size_t j = 0; kSentExactly<T> && next_ && j < each.found; ++j)
        return_to_residual(each, j);
    if (next_)
      return least_passing_key(
          find_threshold(std::span<const Acc>(next_, count_), k_, count_ / 16 + 1, arena()));
    const uint64_t key =
        least_passing_key(find_threshold(std::span(values_, count_), k_, count_ / 16 + 1, arena()));
    if constexpr (sizeof(T) == 2)
      return key_of(widen(T{static_cast<uint16_t>(key)}));
    else
      return key;
  }

  /// K2. Returns the threshold.
  Threshold threshold() const {
    return find_threshold<Acc>(std::span<const Chunk<Acc>>(chunks_), k_, keys_);
  }

  /// K3. Returns the number of entries that pass.
  template <class I>
  size_t write(const Threshold& threshold, const SparseBuffer& selected) {
    split_threshold(backend_, chunks_, threshold);
    backend_.run(chunks_.size(), [&](size_t s) { write_chunk<I>(chunks_[s], selected); });
    return chunks_.back().at + chunks_.back().written;
  }

 private:
  Arena& arena() { return backend_.arena(); }
  /// Returns for how many keys K2 has memory: the same for all calls of a shape, so that later
  /// calls allocate nothing.
  size_t scratch_keys() const { return std::min(most_, count_) + kBlock; }
  static uint64_t least_passing_key(const Threshold& t) { return t.ties > 0 ? t.key : t.key + 1; }

  /// Returns the bound for the filter, which compares bits instead of keys.
  uint64_t bits_of(uint64_t key) const {
    if (next_) return key < kKeyEnd<Acc> ? key : kNoKey<Acc>;
    const uint64_t narrow = narrow_key<T>(key);
    return narrow < kKeyEnd<T> ? narrow : kNoKey<T>;
  }

  void filter_chunk(size_t chunk, uint64_t key) const {
    Chunk<Acc>& out = chunks_[chunk];
    uint64_t bound = bits_of(key);
    bool dense = false;
    out.found = out.discarded = 0;
    size_t look = out.begin + kLook;
    for (size_t at = out.begin; at < out.end;) {
      if (at >= look && backend_.deadline().passed()) break;
      if (at >= look) look += kLook;
      const size_t head = misaligned(at);
      const size_t n = std::min(head != 0 ? head : kBlock, out.end - at);
      const T* const values = filtered_[chunk].from(at, head, out.end);
      if (!values) break;
      if (out.found + n + kRow > out.capacity) bound = raise_bound(out, bound);
      const size_t rows = head != 0 ? 0 : n / kRow * kRow;
      const FilterTask<T> task = task_at(out, values, at, bound, dense);
      size_t found = rows == 0 ? 0 : fast_(head_of(task, rows));
      if (rows < n) found += slow_(tail_of(task, rows, n - rows, found));
      dense = found * kRare > n;
      out.found += found;
      at += n;
    }
    backend_.filters().finish();
  }

  /// Returns the number of elements from `at` on that come before the first aligned element of
  /// `next`.
  size_t misaligned(size_t at) const {
    const size_t over = reinterpret_cast<uintptr_t>(next_ + (next_ ? at : 0)) % kAlignment;
    return over == 0 ? 0 : (kAlignment - over) / sizeof(Acc);
  }

  FilterTask<T> task_at(const Chunk<Acc>& out, const T* values, size_t at, uint64_t bound,
                        bool dense) const {
    return {values,
            next_ ? previous_ + at : nullptr,
            next_ ? next_ + at : nullptr,
            0,
            bound,
            out.index + out.found,
            out.value + out.found,
            static_cast<uint32_t>(at - out.begin),
            streaming_,
            dense};
  }
  static FilterTask<T> head_of(FilterTask<T> task, size_t count) {
    task.count = count;
    return task;
  }
  static FilterTask<T> tail_of(FilterTask<T> task, size_t begin, size_t count, size_t found) {
    task.values += begin;
    if (task.next) task.previous += begin;
    if (task.next) task.next += begin;
    task.count = count;
    task.index += found;
    task.value += found;
    task.first += static_cast<uint32_t>(begin);
    return task;
  }

  /// Returns the new bound of the chunk.
  uint64_t raise_bound(Chunk<Acc>& out, uint64_t bound) const {
    if (overflow_ == Overflow::counted) {
      out.discarded += out.found;
      out.found = 0;
      return bound;
    }
    const auto key_at = [&out](size_t j) -> uint64_t { return key_of(out.value[j]); };
    const Threshold threshold = find_threshold<Acc>(out.found, k_, key_at);
    ThresholdTest test(threshold);
    size_t kept = 0;
    for (size_t j = 0; j < out.found; ++j) {
      if (test.passes(key_at(j))) {
        out.index[kept] = out.index[j];
        out.value[kept++] = out.value[j];
      } else if (kSentExactly<T> && next_) {
        return_to_residual(out, j);
      }
    }
    out.found = kept;
    return bits_of(threshold.key + 1);
  }

  void return_to_residual(const Chunk<Acc>& chunk, size_t j) const {
    next_[chunk.begin + chunk.index[j]] = chunk.value[j];
  }

  /// Prefetches the parts of the residual that will be written. The residual has left the caches,
  /// and so the waits for it overlap.
  void prefetch_residual(const Chunk<Acc>& from, size_t j) const {
    if (j >= from.found) return;
    const uint64_t key = key_of(from.value[j]);
    const bool written = kSentExactly<T> ? key <= from.threshold.key : key >= from.threshold.key;
    if (written) __builtin_prefetch(next_ + from.begin + from.index[j], 1);
  }

  template <class I>
  void write_chunk(Chunk<Acc>& from, const SparseBuffer& selected) const {
    I* const index = static_cast<I*>(selected.index) + from.at;
    Acc* const value = static_cast<Acc*>(selected.value) + from.at;
    size_t n = 0;
    ThresholdTest test(from.threshold);
    for (size_t j = 0; j < from.found; ++j) {
      if (next_) prefetch_residual(from, j + kAhead);
      if (test.passes(key_of(from.value[j]))) {
        const size_t i = from.begin + from.index[j];
        index[n] = static_cast<I>(i);
        value[n++] = sent_part<T>(from.value[j]);
        if (!kSentExactly<T> && next_) next_[i] = residual_part<T>(from.value[j]);
      } else if (kSentExactly<T> && next_) {
        return_to_residual(from, j);
      }
    }
    from.written = n;
  }

  Backend& backend_;
  const T* values_;
  const Acc* previous_;
  Acc* next_;
  size_t count_;
  size_t k_;
  size_t most_;
  Overflow overflow_;
  bool streaming_;
  FilterFunction<T> fast_;
  FilterFunction<T> slow_;
  std::span<Chunk<Acc>> chunks_;
  std::span<FilteredValues<T>> filtered_;  ///< one for each chunk
  std::span<Key<Acc>> keys_;               ///< keys of the candidates that K2 compares exactly
};

}  // namespace sparsecoll::host
