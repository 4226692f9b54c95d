// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Selection at the speed of memory, of floating-point values. Four stages, of which only one looks
// at the whole vector:
//
//   K0. A bound: a key that a little more than k entries reach, guessed from a sample (sample.hpp).
//   K1. One pass: acc = gradient + residual becomes the new residual, and entries that reach the
//       bound are staged as candidates, by index. Each thread has stretches of the vector. Where a
//       stretch has staged as many as there is room for, its own k largest stay, and its bound
//       rises above the least of them: it is one of them or a later, hence lesser, tie that loses.
//   K2. The k-th largest key of the candidates, which is that of the vector: they are all that
//       reach the bound, if they are k or more.
//   K3. What passes is written in order; what does not is given back to the residual.
//
// If the candidates are fewer than k the bound was too high. Then it is found by counting all keys,
// and K1 runs again. So the result never depends on the sample, the room, the stretches or the
// level of instructions: it is that of the plain loops (select.hpp).

#include <algorithm>
#include <span>

#include "kernels/host/candidates.hpp"
#include "kernels/host/select.hpp"

namespace sparsecoll::host {

/// Elements between two looks at how much room is left.
constexpr size_t kBlock = 4096;
/// Candidates whose places in the residual are fetched before they are written.
constexpr size_t kAhead = 64;
/// One candidate in so many elements is too many to branch for.
constexpr size_t kRare = 333;

inline SweepFunction<float> sweep_of(const Sweeps& sweeps, float) { return sweeps.f32; }
inline SweepFunction<double> sweep_of(const Sweeps& sweeps, double) { return sweeps.f64; }
inline SweepFunction<Float16> sweep_of(const Sweeps& sweeps, Float16) { return sweeps.f16; }
inline SweepFunction<Bfloat16> sweep_of(const Sweeps& sweeps, Bfloat16) { return sweeps.bf16; }

/// What happens to candidates for which there is no room: all but the k largest of their stretch
/// are given back, or they are only counted.
enum class Excess { given_back, counted };

/// Stages K1 to K3 of one call. Keys are of the accumulation type.
template <class T>
class Staging {
  using Acc = Accumulation<T>;

 public:
  Staging(Backend& backend, const Gradient& gradient, size_t k, Excess excess)
      : backend_(backend),
        values_(static_cast<const T*>(gradient.values)),
        previous_(static_cast<const Acc*>(gradient.residual.read)),
        next_(static_cast<Acc*>(gradient.residual.write)),
        count_(gradient.count),
        k_(k),
        excess_(excess),
        streaming_(next_ && count_ * sizeof(Acc) >= backend.streamed_from()),
        fast_(sweep_of(backend.sweeps(), T{})),
        slow_(sweep_of(portable_sweeps(), T{})),
        stretches_(backend.arena().take_span<Stretch<Acc>>(backend.stretches(count_))),
        keys_(backend.arena().take<Key<Acc>>(room_for_keys()), room_for_keys()) {
    const size_t least = k_ + kBlock + kRow;
    const size_t wanted = backend.tuning().room != 0 ? backend.tuning().room : least + k_;
    for (size_t s = 0; s < stretches_.size(); ++s) {
      Stretch<Acc>& each = stretches_[s];
      each.begin = cut(count_, stretches_.size(), s);
      each.end = cut(count_, stretches_.size(), s + 1);
      each.room = std::min(std::max(wanted, least), each.end - each.begin + kRow);
      each.index = backend.arena().template take<uint32_t>(each.room);
      each.value = backend.arena().template take<Acc>(each.room);
    }
  }

  /// K1.
  void sweep(uint64_t bound) {
    backend_.run(stretches_.size(), [&](size_t s) { sweep_stretch(stretches_[s], bound); });
  }

  /// How many candidates there were.
  size_t found() const {
    size_t total = 0;
    for (const Stretch<Acc>& each : stretches_) total += each.counted + each.found;
    return total;
  }

  /// The bound that k or more entries reach, for certain. Begins K1 anew.
  uint64_t certain_bound() {
    for (const Stretch<Acc>& each : stretches_)
      for (size_t j = 0; kLeavesNothing<T> && next_ && j < each.found; ++j) give_back(each, j);
    if (next_)
      return first_of(
          find_threshold(std::span<const Acc>(next_, count_), k_, count_ / 16 + 1, arena()));
    const uint64_t key =
        first_of(find_threshold(std::span(values_, count_), k_, count_ / 16 + 1, arena()));
    if constexpr (sizeof(T) == 2)
      return key_of(widen(T{static_cast<uint16_t>(key)}));
    else
      return key;
  }

  /// K2.
  Threshold threshold() const {
    return find_threshold<Acc>(std::span<const Stretch<Acc>>(stretches_), k_, keys_);
  }

  /// K3. Returns how many pass.
  template <class I>
  size_t write(const Threshold& threshold, const SparseBuffer& selected) {
    share_threshold(backend_, stretches_, threshold);
    backend_.run(stretches_.size(), [&](size_t s) { write_stretch<I>(stretches_[s], selected); });
    return stretches_.back().at + stretches_.back().written;
  }

 private:
  Arena& arena() { return backend_.arena(); }
  /// The same for all calls of a shape, so that these take no more memory.
  size_t room_for_keys() const { return std::min(k_, count_) + kBlock; }
  static uint64_t first_of(const Threshold& t) { return t.ties > 0 ? t.key : t.key + 1; }

  /// The bound of the pass, which knows no keys but only bits.
  uint64_t bits_of(uint64_t key) const {
    if (next_) return key < kKeyEnd<Acc> ? key : kNoKey<Acc>;
    const uint64_t narrow = narrow_key<T>(key);
    return narrow < kKeyEnd<T> ? narrow : kNoKey<T>;
  }

  void sweep_stretch(Stretch<Acc>& out, uint64_t key) const {
    uint64_t bound = bits_of(key);
    bool dense = false;
    out.found = out.counted = 0;
    for (size_t at = out.begin; at < out.end;) {
      const size_t head = misaligned(at);
      const size_t n = std::min(head != 0 ? head : kBlock, out.end - at);
      if (out.found + n + kRow > out.room) bound = make_room(out, bound);
      const size_t rows = head != 0 ? 0 : n / kRow * kRow;
      const Sweep<T> piece = piece_at(out, at, bound, dense);
      size_t found = rows == 0 ? 0 : fast_(first(piece, rows));
      if (rows < n) found += slow_(rest(piece, rows, n - rows, found));
      dense = found * kRare > n;
      out.found += found;
      at += n;
    }
    backend_.sweeps().finish();
  }

  /// Elements from `at` on before `next` is aligned.
  size_t misaligned(size_t at) const {
    const size_t over = reinterpret_cast<uintptr_t>(next_ + (next_ ? at : 0)) % kAlignment;
    return over == 0 ? 0 : (kAlignment - over) / sizeof(Acc);
  }

  Sweep<T> piece_at(const Stretch<Acc>& out, size_t at, uint64_t bound, bool dense) const {
    return {values_ + at,
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
  static Sweep<T> first(Sweep<T> piece, size_t count) {
    piece.count = count;
    return piece;
  }
  static Sweep<T> rest(Sweep<T> piece, size_t begin, size_t count, size_t found) {
    piece.values += begin;
    if (piece.next) piece.previous += begin;
    if (piece.next) piece.next += begin;
    piece.count = count;
    piece.index += found;
    piece.value += found;
    piece.first += static_cast<uint32_t>(begin);
    return piece;
  }

  /// Returns the bound from now on.
  uint64_t make_room(Stretch<Acc>& out, uint64_t bound) const {
    if (excess_ == Excess::counted) {
      out.counted += out.found;
      out.found = 0;
      return bound;
    }
    const auto key_at = [&out](size_t j) -> uint64_t { return key_of(out.value[j]); };
    const Threshold threshold = find_threshold<Acc>(out.found, k_, key_at);
    Gate gate(threshold);
    size_t kept = 0;
    for (size_t j = 0; j < out.found; ++j) {
      if (gate.passes(key_at(j))) {
        out.index[kept] = out.index[j];
        out.value[kept++] = out.value[j];
      } else if (kLeavesNothing<T> && next_) {
        give_back(out, j);
      }
    }
    out.found = kept;
    return bits_of(threshold.key + 1);
  }

  void give_back(const Stretch<Acc>& stretch, size_t j) const {
    next_[stretch.begin + stretch.index[j]] = stretch.value[j];
  }

  /// The residual has left the caches: waits for the places that will be written had better
  /// overlap.
  void fetch_early(const Stretch<Acc>& from, size_t j) const {
    if (j >= from.found) return;
    const uint64_t key = key_of(from.value[j]);
    const bool written = kLeavesNothing<T> ? key <= from.threshold.key : key >= from.threshold.key;
    if (written) __builtin_prefetch(next_ + from.begin + from.index[j], 1);
  }

  template <class I>
  void write_stretch(Stretch<Acc>& from, const SparseBuffer& selected) const {
    I* const index = static_cast<I*>(selected.index) + from.at;
    Acc* const value = static_cast<Acc*>(selected.value) + from.at;
    size_t n = 0;
    Gate gate(from.threshold);
    for (size_t j = 0; j < from.found; ++j) {
      if (next_) fetch_early(from, j + kAhead);
      if (gate.passes(key_of(from.value[j]))) {
        const size_t i = from.begin + from.index[j];
        index[n] = static_cast<I>(i);
        value[n++] = shipped<T>(from.value[j]);
        if (!kLeavesNothing<T> && next_) next_[i] = unshipped<T>(from.value[j]);
      } else if (kLeavesNothing<T> && next_) {
        give_back(from, j);
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
  Excess excess_;
  bool streaming_;
  SweepFunction<T> fast_;
  SweepFunction<T> slow_;
  std::span<Stretch<Acc>> stretches_;
  std::span<Key<Acc>> keys_;  ///< of candidates that are looked at closely
};

}  // namespace sparsecoll::host
