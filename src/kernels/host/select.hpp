// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "kernels/host/threshold.hpp"
#include "kernels/host/view.hpp"
#include "kernels/kernels.hpp"

namespace sparsecoll::host {

template <class T>
void accumulate(const Gradient& gradient, Accumulation<T>* acc) {
  const T* values = static_cast<const T*>(gradient.values);
  const auto* previous = static_cast<const Accumulation<T>*>(gradient.residual.read);
  for (size_t i = 0; i < gradient.count; ++i)
    acc[i] = previous ? widen(values[i]) + previous[i] : widen(values[i]);
}

/// Calls visit(i, key) for every key of at least `lowest`, in order. If such keys are rare, it
/// skips most blocks by their largest magnitude, which is quick to find.
template <class T, class Visit>
void visit_at_least(std::span<const T> values, uint64_t lowest, Visit visit) {
  constexpr size_t kBlock = 64;
  for (size_t begin = 0; begin < values.size(); begin += kBlock) {
    const auto block = values.subspan(begin, std::min(kBlock, values.size() - begin));
    decltype(magnitude_bits(T{})) largest = 0;
    for (const T value : block) largest = std::max(largest, magnitude_bits(value));
    if (static_cast<uint64_t>(largest) < lowest) continue;
    for (size_t i = 0; i < block.size(); ++i)
      if (const uint64_t key = key_of(block[i]); key >= lowest) visit(begin + i, key);
  }
}

/// Does what find_threshold() does, for a long vector. Copies the keys that share the first digit
/// of the k-th one, if there is room, so that it reads the vector only twice.
template <class T>
Threshold find_threshold(std::span<const T> values, size_t k, size_t room, Arena& arena) {
  const auto key_at = [values](size_t i) -> uint64_t { return key_of(values[i]); };
  if (values.size() <= kFewKeys) return find_threshold<T>(values.size(), k, key_at);
  constexpr int kShift = std::bit_width(kKeyEnd<T> - 1) - kDigitBits;
  std::array<size_t, (kKeyEnd<T> >> kShift) + 1> bin{};
  for (const T value : values) ++bin[key_of(value) >> kShift];
  size_t digit = bin.size() - 1, missing = k;
  while (digit > 0 && bin[digit] < missing) missing -= bin[digit--];
  if (k == 0 || digit == 0 || bin[digit] > room) return find_threshold<T>(values.size(), k, key_at);
  const Arena::Scope scope(arena);
  Key<T>* few = arena.take<Key<T>>(room);
  size_t n = 0;
  visit_at_least(values, uint64_t{digit} << kShift, [&](size_t, uint64_t key) {
    if (key >> kShift == digit) few[n++] = static_cast<Key<T>>(key);
  });
  return find_threshold<T>(n, missing, [few](size_t j) -> uint64_t { return few[j]; });
}

/// Selects the k largest entries of `acc`. It has the tensor's type T if there is no residual.
/// Otherwise it has the accumulation type, and `next`, the new residual, holds it too.
template <class T, class I, class Acc>
void select(std::span<const Acc> acc, size_t k, Accumulation<T>* next, const SparseBuffer& selected,
            Arena& arena) {
  const size_t usual = acc.size() / 16 + 1;
  const Threshold threshold = find_threshold(acc, k, usual, arena);
  ThresholdTest test(threshold);
  Writer<Accumulation<T>, I> out(selected);
  visit_at_least(acc, threshold.key + (threshold.ties == 0), [&](size_t i, uint64_t key) {
    if (!test.passes(key)) return;
    const Accumulation<T> value = widen(acc[i]);
    out.add(i, sent_part<T>(value));
    if (next) next[i] = residual_part<T>(value);
  });
  out.done();
}

template <class T, class I>
void accumulate_select(const Gradient& gradient, size_t k, const SparseBuffer& selected,
                       Arena& arena) {
  auto* next = static_cast<Accumulation<T>*>(gradient.residual.write);
  const T* values = static_cast<const T*>(gradient.values);
  if (!next) return select<T, I>(std::span(values, gradient.count), k, next, selected, arena);
  accumulate<T>(gradient, next);
  select<T, I>(std::span<const Accumulation<T>>(next, gradient.count), k, next, selected, arena);
}

/// Selects the entries with a key of at least `key`, in the type of `acc`; see select().
template <class T, class I, class Acc>
void select_above(std::span<const Acc> acc, uint64_t key, Accumulation<T>* next,
                  const SparseBuffer& selected) {
  Writer<Accumulation<T>, I> out(selected);
  uint64_t found = 0;
  visit_at_least(acc, key, [&](size_t i, uint64_t) {
    if (++found > selected.capacity) return;
    const Accumulation<T> value = widen(acc[i]);
    out.add(i, sent_part<T>(value));
    if (next) next[i] = residual_part<T>(value);
  });
  *selected.nnz = found;
}

template <class T, class I>
void accumulate_above(const Gradient& gradient, uint64_t key, const SparseBuffer& selected) {
  auto* next = static_cast<Accumulation<T>*>(gradient.residual.write);
  const T* values = static_cast<const T*>(gradient.values);
  if (!next)
    return select_above<T, I>(std::span(values, gradient.count), narrow_key<T>(key), next,
                              selected);
  accumulate<T>(gradient, next);
  select_above<T, I>(std::span<const Accumulation<T>>(next, gradient.count), key, next, selected);
}

/// Splits entries into those that pass and the other non-zeros.
template <class T, class I>
void partition(const View<T, I>& in, const Threshold& threshold, const SparseBuffer& kept,
               const SparseBuffer& dropped) {
  ThresholdTest test(threshold);
  Writer<T, I> keep(kept), drop(dropped);
  for (size_t j = 0; j < in.nnz; ++j) {
    const uint64_t key = key_of(in.value[j]);
    if (test.passes(key))
      keep.add(in.at(j), in.value[j]);
    else if (dropped.capacity > 0 && key != 0)
      drop.add(in.at(j), in.value[j]);
  }
  keep.done();
  if (dropped.capacity > 0) drop.done();
}

template <class T, class I>
uint64_t least_key(const View<T, I>& in) {
  if (in.nnz == 0) return 0;
  // Several keys at once, so that compilers use vector instructions.
  constexpr size_t kLanes = 16;
  std::array<decltype(magnitude_bits(T{})), kLanes> least;
  least.fill(magnitude_bits(in.value[0]));
  size_t j = 0;
  for (; j + kLanes <= in.nnz; j += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane)
      least[lane] = std::min(least[lane], magnitude_bits(in.value[j + lane]));
  for (; j < in.nnz; ++j) least[0] = std::min(least[0], magnitude_bits(in.value[j]));
  const auto found = static_cast<uint64_t>(*std::min_element(least.begin(), least.end()));
  return std::min(found, kKeyEnd<T> - 1);  // the key of every NaN
}

template <class T, class I>
void key_histogram(const View<T, I>& in, KeyBins bins, uint64_t* bin) {
  if (bins.bins == 1) {  // without a branch, so that compilers count several at once
    uint64_t inside = 0, above = 0;
    for (size_t j = 0; j < in.nnz; ++j) {
      const auto key = key_of(in.value[j]);
      inside += key >= bins.begin && key < bins.end();
      above += key >= bins.end();
    }
    bin[0] += inside;
    bin[1] += above;
    return;
  }
  for (size_t j = 0; j < in.nnz; ++j) {
    const uint64_t key = key_of(in.value[j]);
    if (key < bins.begin) continue;
    ++bin[std::min<uint64_t>((key - bins.begin) >> bins.shift, bins.bins)];
  }
}

}  // namespace sparsecoll::host
