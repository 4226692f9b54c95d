// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>

#include "kernels/host/view.hpp"
#include "kernels/kernels.hpp"

namespace sparsecoll::host {

template <class T>
void push_sum_share(const T* values, size_t count, double share, T* out) {
  const T part = static_cast<T>(share);
  for (size_t i = 0; i < count; ++i) out[i] = part * values[i];
}

template <class T>
void push_sum_change(const T* x, const T* copy, size_t count, T* change) {
  for (size_t i = 0; i < count; ++i) change[i] = x[i] - copy[i];
}

template <class T, class I>
void push_sum_follow(const View<T, I>& change, T* copy) {
  for (size_t j = 0; j < change.nnz; ++j) {
    T& value = copy[change.at(j)];
    value = canonical(value + change.value[j]);
  }
}

template <class T>
void push_sum_move(const T* copy, size_t count, double share, T* net) {
  const T part = static_cast<T>(share);
  for (size_t i = 0; i < count; ++i) net[i] += part * copy[i];
}

/// By blocks that stay in the cache, however many vectors are added.
template <class T>
void push_sum_absorb(const PushSumTerms& terms, size_t count, T* x, T* estimate) {
  constexpr size_t kBlock = 1024;
  std::array<T, kBlock> acc;
  const T weight = static_cast<T>(terms.weight);
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t n = std::min(kBlock, count - begin);
    T* const own = x + begin;
    std::copy_n(own, n, acc.begin());
    for (const double share : terms.shares) {
      const T part = static_cast<T>(share);
      for (size_t i = 0; i < n; ++i) acc[i] -= part * own[i];
    }
    for (const void* const arrived : terms.arrived) {
      const T* values = static_cast<const T*>(arrived) + begin;
      for (size_t i = 0; i < n; ++i) acc[i] += values[i];
    }
    if (terms.net) {
      const T* values = static_cast<const T*>(terms.net) + begin;
      for (size_t i = 0; i < n; ++i) acc[i] += values[i];
    }
    for (size_t i = 0; i < n; ++i) own[i] = delivered(acc[i]);
    if (!estimate) continue;
    for (size_t i = 0; i < n; ++i) estimate[begin + i] = delivered(own[i] / weight);
  }
}

}  // namespace sparsecoll::host
