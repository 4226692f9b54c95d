// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/numeric.hpp"
#include "kernels/kernels.hpp"

namespace sparsecoll::host {

/// Magnitudes compare as integers do, NaNs above infinity. They are quicker to compute than keys,
/// and no magnitude is below its key. Those of floats have no sign bit; signed comparisons are
/// quicker.
template <class T>
auto magnitude_bits(T value) {
  if constexpr (Integer<T>)
    return key_of(value);
  else
    return static_cast<std::make_signed_t<Key<T>>>(std::bit_cast<Key<T>>(value) &
                                                   Float<T>::kMagnitude);
}

constexpr int kDigitBits = 11;  // bits of the digit that one round counts

/// Finds the threshold that the k largest of some keys pass, digit by digit from the top: each
/// round counts the keys that share the digits found so far, by their next digit. `visit_keys`
/// calls its argument with every key.
template <class T, class VisitKeys>
Threshold find_threshold(size_t k, VisitKeys visit_keys) {
  if (k == 0) return {kKeyEnd<T>, 0};
  uint64_t prefix = 0;  // prefix of the k-th key
  size_t missing = k;   // how many of the k largest have this prefix
  for (int high = std::bit_width(kKeyEnd<T> - 1); high > 0;) {
    const int shift = std::max(high - kDigitBits, 0);
    const uint64_t mask = (uint64_t{1} << (high - shift)) - 1;
    std::array<size_t, size_t{1} << kDigitBits> bin{};
    visit_keys([&](uint64_t key) {
      const uint64_t digits = key >> shift;  // `high` may be all 64 bits, too far for one shift
      if (digits >> (high - shift) == prefix) ++bin[digits & mask];
    });
    size_t digit = mask;
    while (digit > 0 && bin[digit] < missing) missing -= bin[digit--];
    prefix = prefix << (high - shift) | digit;
    high = shift;
    if (bin[digit] <= missing) {  // all keys with this prefix or a higher one pass
      const uint64_t lowest = std::max<uint64_t>(prefix << shift, 1);
      return {lowest - 1, 0};
    }
  }
  return prefix == 0 ? Threshold{} : Threshold{prefix, missing};
}

/// Up to this number of keys, splitting them bit by bit is faster than counting digits.
constexpr size_t kFewKeys = 512;

/// Finds the threshold of at most kFewKeys keys. Each round splits the keys that may be the k-th by
/// the highest bit in which they differ, and goes on with one of the two parts. No branch depends
/// on a single key.
template <class T, class KeyAt>
Threshold split_threshold(size_t n, size_t k, KeyAt key_at) {
  using K = Key<T>;
  if (n < k) return {};
  std::array<K, kFewKeys> first, second;
  K *keys = first.data(), *others = second.data();
  for (size_t j = 0; j < n; ++j) keys[j] = static_cast<K>(key_at(j));
  const auto just_below = [&keys](size_t count) -> Threshold {
    K lowest = std::numeric_limits<K>::max();
    for (size_t j = 0; j < count; ++j) lowest = std::min(lowest, keys[j]);
    return {lowest == 0 ? 0 : lowest - uint64_t{1}, 0};
  };
  if (n == k) return just_below(n);
  for (size_t missing = k;;) {  // of the n keys that are left, fewer than n pass
    K any = 0, all = std::numeric_limits<K>::max();
    for (size_t j = 0; j < n; ++j) {
      any |= keys[j];
      all &= keys[j];
    }
    if (any == all) return any == 0 ? Threshold{} : Threshold{any, missing};
    const int bit = std::bit_width(static_cast<K>(any ^ all)) - 1;
    size_t ones = 0;
    for (size_t j = 0; j < n; ++j) {
      const K key = keys[j];
      keys[ones] = key;
      others[j - ones] = key;
      ones += (key >> bit) & 1;
    }
    if (ones == missing) return just_below(ones);
    if (ones > missing) {
      n = ones;
    } else {
      missing -= ones;
      n -= ones;
      std::swap(keys, others);
    }
  }
}

/// Finds the threshold of n keys that are given by position.
template <class T, class KeyAt>
Threshold find_threshold(size_t n, size_t k, KeyAt key_at) {
  if (k > 0 && n <= kFewKeys) return split_threshold<T>(n, k, key_at);
  return find_threshold<T>(k, [n, key_at](auto visit) {
    for (size_t j = 0; j < n; ++j) visit(key_at(j));
  });
}

/// Decides which entries pass. Callers pass the entries in index order.
class ThresholdTest {
 public:
  explicit ThresholdTest(const Threshold& threshold) : threshold_(threshold) {}
  bool passes(uint64_t key) {
    if (key > threshold_.key) return true;
    if (key < threshold_.key || threshold_.ties == 0) return false;
    --threshold_.ties;
    return true;
  }

 private:
  Threshold threshold_;
};

}  // namespace sparsecoll::host
