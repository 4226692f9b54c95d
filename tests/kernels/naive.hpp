// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Does what the kernels do, as slowly and plainly as possible, and has the inputs that are most
// likely to break them.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "kernels/backend.hpp"
#include "support/config.hpp"
#include "support/data.hpp"

namespace sparsecoll::unit {

template <class T>
constexpr T kNotANumber = std::numeric_limits<T>::quiet_NaN();
template <class T>
constexpr T kInfinite = std::numeric_limits<T>::infinity();

/// Returns whether |a| is ordered before |b|: NaN above infinity above every finite value.
template <class T>
bool larger(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
  return std::fabs(a) > std::fabs(b);
}

/// Returns the k largest non-zeros in index order. The lower index wins a tie.
template <class T>
Entries<T> naive_top_k(Entries<T> in, size_t k) {
  std::erase_if(in, [](const auto& entry) { return entry.value == 0; });
  std::stable_sort(in.begin(), in.end(),
                   [](const auto& a, const auto& b) { return larger(a.value, b.value); });
  if (in.size() > k) in.resize(k);
  std::sort(in.begin(), in.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
  return in;
}

/// Returns the non-zeros of `in` that are not in its subset `taken`.
template <class T>
Entries<T> naive_rest(const Entries<T>& in, const Entries<T>& taken) {
  Entries<T> rest;
  size_t next = 0;
  for (const auto& entry : in) {
    if (next < taken.size() && taken[next].index == entry.index)
      ++next;
    else if (entry.value != 0)
      rest.push_back(entry);
  }
  return rest;
}

/// Adds by index in the order of the inputs, beginning with the first value.
template <class T>
Entries<T> naive_sum(const std::vector<Entries<T>>& inputs) {
  std::map<uint64_t, T> sum;
  for (const Entries<T>& input : inputs) {
    for (const auto& entry : input) {
      const auto [at, fresh] = sum.emplace(entry.index, entry.value);
      if (!fresh) at->second = at->second + entry.value;
    }
  }
  Entries<T> entries;
  for (const auto& [index, value] : sum) entries.push_back({index, value});
  return entries;
}

/// Makes all NaNs the same, because which of two NaNs an addition keeps depends on the compiler.
template <class T>
Entries<T> one_nan(Entries<T> entries) {
  for (auto& entry : entries)
    if (std::isnan(entry.value)) entry.value = kNotANumber<T>;
  return entries;
}

template <class T>
std::vector<T> one_nan(std::vector<T> values) {
  for (T& value : values)
    if (std::isnan(value)) value = kNotANumber<T>;
  return values;
}

/// Kinds of data for dense vectors.
inline constexpr test::Kind kDenseKinds[] = {
    test::Kind::kIntegers,  test::Kind::kHeavyTail,     test::Kind::kAllEqual,
    test::Kind::kAllZero,   test::Kind::kOneNonZero,    test::Kind::kHotBlock,
    test::Kind::kNotFinite, test::Kind::kInfinityClash, test::Kind::kSignedZeros,
    test::Kind::kDenormals, test::Kind::kHuge};

template <class T>
std::vector<T> dense_of(test::Kind kind, size_t n, uint64_t seed) {
  return test::make_data<T>(kind, n, 0, 2, seed);
}

/// Returns about half of the entries of a dense vector, spread by `stride` and starting at `first`.
template <class T>
Entries<T> sparse_of(test::Kind kind, size_t n, uint64_t seed, uint64_t stride = 1,
                     uint64_t first = 0) {
  const std::vector<T> dense = dense_of<T>(kind, n, seed);
  Entries<T> entries;
  for (size_t i = 0; i < n; ++i)
    if (test::noise(seed, 99, i) % 2 == 0) entries.push_back({first + i * stride, dense[i]});
  return entries;
}

/// Returns lengths around the borders of digits and tiles.
inline std::vector<size_t> lengths() {
  std::vector<size_t> all{0, 1, 2, 3, 64, 65, 1000};
  if (!test::small_run()) all.insert(all.end(), {8192, 8193});
  return all;
}

/// Returns the values of k to test for n entries.
inline std::vector<size_t> some_k(size_t n) {
  return {0, 1, 2, n / 100, n / 2, n == 0 ? 0 : n - 1, n, n + 1, 10 * n + 7, kAll / 2};
}

}  // namespace sparsecoll::unit
