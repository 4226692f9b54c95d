// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Input of every value type, and results as bits.

#include "kernels/cuda/device_backend.hpp"
#include "kernels/naive.hpp"

namespace sparsecoll::cuda_test {

/// The kernels of host and device for a tensor of T.
template <class T, class I = uint32_t>
using PairOf = Pair<Accumulation<T>, I, data_type_of<T>()>;

/// Returns values of any type. Integers have any magnitude, whatever the kind.
template <class T>
std::vector<T> values_of(test::Kind kind, size_t n, uint64_t seed) {
  std::vector<T> values;
  if constexpr (Integer<T>) {
    for (size_t i = 0; i < n; ++i) {
      const uint64_t noise = test::noise(seed, i);
      values.push_back(static_cast<T>(static_cast<int64_t>(noise) >> noise % 64));
    }
  } else {
    for (const Accumulation<T> value : unit::dense_of<Accumulation<T>>(kind, n, seed))
      values.push_back(narrow<T>(value));
  }
  return values;
}

/// Returns entries with such values at about half of the indices below n, times `stride`.
template <class Acc>
Entries<Acc> entries_of(test::Kind kind, size_t n, uint64_t seed, uint64_t stride = 1) {
  const std::vector<Acc> values = values_of<Acc>(kind, n, seed);
  Entries<Acc> entries;
  for (size_t i = 0; i < n; ++i)
    if (test::noise(seed, 99, i) % 2 == 0) entries.push_back({i * stride, values[i]});
  return entries;
}

template <class T>
std::vector<Key<T>> bits_of(const std::vector<T>& values) {
  std::vector<Key<T>> bits;
  for (const T value : values) bits.push_back(std::bit_cast<Key<T>>(value));
  return bits;
}

/// Makes all NaNs the same, because which of two NaNs an addition keeps depends on the machine.
template <class T>
std::vector<Key<T>> bits_but_nan(const std::vector<T>& values) {
  std::vector<Key<T>> bits = bits_of(values);
  if constexpr (!Integer<T>) {
    for (size_t i = 0; i < values.size(); ++i)
      if (key_of(values[i]) > Float<T>::kInfinity) bits[i] = Float<T>::kNan;
  }
  return bits;
}

/// Returns the indices and the bits of the values.
template <class T>
std::vector<uint64_t> bits_of(const Entries<T>& entries) {
  std::vector<uint64_t> bits;
  for (const auto& entry : entries)
    bits.insert(bits.end(), {entry.index, std::bit_cast<Key<T>>(entry.value)});
  return bits;
}

/// A vector to try.
struct Input {
  test::Kind kind;
  size_t n;
};

/// Returns every kind of data with one length, lengths around the borders of packs, blocks and
/// groups of values, and one that needs more threads than the machine has.
inline std::vector<Input> inputs() {
  std::vector<Input> all;
  for (const test::Kind kind : unit::kDenseKinds) all.push_back({kind, 1000});
  for (const size_t n : {0, 1, 3, 4, 5, 7, 8, 9, 255, 256, 257, 1023, 1024, 1025, 3000})
    all.push_back({test::Kind::kHeavyTail, n});
  if (!test::small_run()) all.push_back({test::Kind::kHeavyTail, 25001});
  return all;
}

inline std::ostream& operator<<(std::ostream& out, const Input& input) {
  return out << test::name_of(input.kind) << ", n = " << input.n;
}

}  // namespace sparsecoll::cuda_test
