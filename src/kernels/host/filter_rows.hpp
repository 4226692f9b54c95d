// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The loops of filter.hpp over the vectors of one level of instructions. Only files that are
// compiled for a level include this header, each with a copy of its own: hence the anonymous
// namespace. Such a file first defines structs for its vectors, such as FloatLanes.

#include "kernels/host/filter.hpp"

namespace sparsecoll::host {
namespace {

/// L is a struct such as FloatLanes. It has the types Vector and Bound, the constant kLanes and the
/// functions load(), add(), reaching(), which returns a mask of lanes, clear(), store(), stream()
/// and append(), which returns the number of values that it has written.
template <class L, bool kStreaming, bool kDense, class T>
size_t filter_with_residual(const FilterTask<T>& s) {
  constexpr size_t kVectors = kRow / L::kLanes;
  const auto bound = L::bound_of(s.bound);
  size_t found = 0;
  for (size_t i = 0; i < s.count; i += kRow) {
    typename L::Vector v[kVectors];
    unsigned any = 0;
#pragma GCC unroll 8
    for (size_t j = 0; j < kVectors; ++j) {
      v[j] = L::add(L::load(s.values + i + j * L::kLanes), s.previous + i + j * L::kLanes);
      if (!kDense) any |= L::reaching(v[j], bound);
    }
    if (kDense || any != 0) {
#pragma GCC unroll 8
      for (size_t j = 0; j < kVectors; ++j) {
        const auto mask = L::reaching(v[j], bound);
        if (!kDense && mask == 0) continue;
        const auto at = static_cast<uint32_t>(i + j * L::kLanes) + s.first;
        found += L::append(mask, v[j], at, s.index + found, s.value + found);
        if (kSentExactly<T>) v[j] = L::clear(mask, v[j]);
      }
    }
#pragma GCC unroll 8
    for (size_t j = 0; j < kVectors; ++j) {
      if (kStreaming)
        L::stream(s.next + i + j * L::kLanes, v[j]);
      else
        L::store(s.next + i + j * L::kLanes, v[j]);
    }
  }
  return found;
}

template <class L, bool kDense, class T>
size_t filter_values(const FilterTask<T>& s) {
  constexpr size_t kVectors = kRow / L::kLanes;
  const auto bound = L::bound_of(s.bound);
  size_t found = 0;
  for (size_t i = 0; i < s.count; i += kRow) {
    if (!kDense) {
      unsigned any = 0;
#pragma GCC unroll 8
      for (size_t j = 0; j < kVectors; ++j)
        any |= L::reaching(L::load(s.values + i + j * L::kLanes), bound);
      if (any == 0) continue;
    }
#pragma GCC unroll 8
    for (size_t j = 0; j < kVectors; ++j) {
      const auto v = L::load(s.values + i + j * L::kLanes);
      const auto mask = L::reaching(v, bound);
      if (!kDense && mask == 0) continue;
      const auto at = static_cast<uint32_t>(i + j * L::kLanes) + s.first;
      found += L::append(mask, v, at, s.index + found, s.value + found);
    }
  }
  return found;
}

/// Extracts large values. L must load keys of T, so lanes of 16 bits are not supported.
template <class L, class T>
size_t extract(const ExtractTask<T>& h) {
  constexpr uint64_t kLast = uint64_t{1} << 63;  // if no bit is left, any position is valid
  const auto bound = L::bound_of(h.bound);
  size_t found = 0;
  for (size_t i = 0; i < h.count; i += kRow) {
    T* const row = h.values + i;
    uint64_t bits = 0;
#pragma GCC unroll 16
    for (size_t j = 0; j < kRow; j += L::kLanes)
      bits |= static_cast<uint64_t>(L::reaching(L::load(row + j), bound)) << j;
    uint32_t* const position = h.position + found;
    T* const value = h.value + found;
    const auto take = [&](size_t j) {
      const auto bit = static_cast<uint32_t>(__builtin_ctzll(bits | kLast));
      position[j] = static_cast<uint32_t>(i) + bit;
      value[j] = row[bit];
      bits &= bits - 1;
    };
    const auto n = static_cast<size_t>(__builtin_popcountll(bits));
    // Few rows have more than two. Whether a row has none, one or two cannot be predicted.
#pragma GCC unroll 4
    for (size_t j = 0; j < kExtractSlack; ++j) take(j);
    for (size_t j = kExtractSlack; j < n; ++j) take(j);
    found += n;
#pragma GCC unroll 16
    for (size_t j = 0; j < kRow; j += L::kLanes) L::store(row + j, typename L::Vector{});
  }
  return found;
}

template <class L>
void stream(void* to, const void* from, size_t bytes) {
  const auto* const in = static_cast<const float*>(from);
  for (size_t i = 0; i < bytes / sizeof(float); i += L::kLanes)
    L::stream(static_cast<float*>(to) + i, L::load(in + i));
}

/// `With` is for sums with a residual, `Bare` for vectors without one.
template <class With, class Bare, class T>
size_t filter(const FilterTask<T>& s) {
  if (!s.previous) return s.dense ? filter_values<Bare, true>(s) : filter_values<Bare, false>(s);
  if (s.streaming)
    return s.dense ? filter_with_residual<With, true, true>(s)
                   : filter_with_residual<With, true, false>(s);
  return s.dense ? filter_with_residual<With, false, true>(s)
                 : filter_with_residual<With, false, false>(s);
}

}  // namespace
}  // namespace sparsecoll::host
