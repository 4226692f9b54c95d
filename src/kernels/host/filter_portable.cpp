// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Loops without vector instructions, for any length and alignment.
#include <algorithm>
#include <cstring>

#include "kernels/host/filter.hpp"
#include "kernels/host/threshold.hpp"

namespace sparsecoll::host {

namespace {

/// Makes candidates of those of n entries that reach the bound. If values are sent exactly, sets
/// their residual to 0.
template <class T, class Value>
size_t append(const FilterTask<T>& s, size_t begin, size_t n, size_t found, Value* value) {
  for (size_t i = 0; i < n; ++i) {
    if (static_cast<uint64_t>(magnitude_bits(value[i])) < s.bound) continue;
    s.index[found] = s.first + static_cast<uint32_t>(begin + i);
    s.value[found++] = widen(value[i]);
    if constexpr (kSentExactly<T> && !std::is_const_v<Value>) value[i] = Value{0};
  }
  return found;
}

template <class Value>
uint64_t largest(const Value* value, size_t n) {
  decltype(magnitude_bits(Value{})) most = 0;
  for (size_t i = 0; i < n; ++i) most = std::max(most, magnitude_bits(value[i]));
  return static_cast<uint64_t>(most);
}

template <class T>
size_t filter(const FilterTask<T>& s) {
  size_t found = 0;
  for (size_t begin = 0; begin < s.count; begin += kRow) {
    const size_t n = std::min(kRow, s.count - begin);
    const T* values = s.values + begin;
    if (!s.previous) {
      if (largest(values, n) >= s.bound) found = append(s, begin, n, found, values);
      continue;
    }
    Accumulation<T> acc[kRow];
    for (size_t i = 0; i < n; ++i) acc[i] = widen(values[i]) + s.previous[begin + i];
    if (largest(acc, n) >= s.bound) found = append(s, begin, n, found, acc);
    std::copy_n(acc, n, s.next + begin);
  }
  return found;
}

constexpr FilterFunctions kFilters{
    nullptr,
    nullptr,
    &filter<float>,
    &filter<double>,
    &filter<Float16>,
    &filter<Bfloat16>,
    [](void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); },
    [] {}};

}  // namespace

const FilterFunctions& portable_filters() { return kFilters; }

}  // namespace sparsecoll::host
