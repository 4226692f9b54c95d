// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>

#include "kernels/host/view.hpp"
#include "kernels/kernels.hpp"

namespace sparsecoll::host {

// These functions are never called for integers, which have no shares.

/// Returns the share of a value that is sent, rounded as in messages.
template <class T>
T push_sum_part(Accumulation<T> share, T value) {
  return narrow<T>(static_cast<Accumulation<T>>(share * widen(value)));
}

template <class T>
void push_sum_share(const T* values, size_t count, double share, T* out) {
  const auto part = static_cast<Accumulation<T>>(share);
  for (size_t i = 0; i < count; ++i) out[i] = push_sum_part(part, values[i]);
}

template <class Acc, class I>
void push_sum_add_change(const View<Acc, I>& change, double sign, Acc* copy) {
  const auto factor = static_cast<Acc>(sign);
  for (size_t j = 0; j < change.nnz; ++j) {
    Acc& value = copy[change.at(j)];
    value = canonical(static_cast<Acc>(value + factor * change.value[j]));
  }
}

template <class Acc>
void push_sum_mix(const Acc* copy, size_t count, double share, Acc* net) {
  const auto part = static_cast<Acc>(share);
  for (size_t i = 0; i < count; ++i) net[i] += part * copy[i];
}

inline void push_sum_split_weight(double* weight, std::span<const double> shares,
                                  std::span<double* const> out) {
  const double before = *weight;
  for (size_t i = 0; i < shares.size(); ++i) *weight -= *out[i] = shares[i] * before;
}

inline void push_sum_add_weights(double* weight, std::span<const double* const> arrived) {
  for (const double* const each : arrived) *weight += *each;
}

/// Works block by block, so that a block stays in the cache while all vectors are added.
template <class T>
void push_sum_update(const PushSumUpdate& update, size_t count, T* x, T* estimate) {
  using Acc = Accumulation<T>;
  constexpr size_t kBlock = 1024;
  std::array<Acc, kBlock> acc;
  const auto weight = static_cast<Acc>(update.weight_at ? *update.weight_at : update.weight);
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t n = std::min(kBlock, count - begin);
    T* const own = x + begin;
    for (size_t i = 0; i < n; ++i) acc[i] = widen(own[i]);
    for (const double share : update.shares) {
      const auto part = static_cast<Acc>(share);
      for (size_t i = 0; i < n; ++i) acc[i] -= widen(push_sum_part(part, own[i]));
    }
    for (const void* const arrived : update.arrived) {
      const T* values = static_cast<const T*>(arrived) + begin;
      for (size_t i = 0; i < n; ++i) acc[i] += widen(values[i]);
    }
    if (update.net) {
      const Acc* values = static_cast<const Acc*>(update.net) + begin;
      for (size_t i = 0; i < n; ++i) acc[i] += values[i];
    }
    for (size_t i = 0; i < n; ++i) own[i] = result_value<T>(acc[i], 1);
    if (!estimate) continue;
    for (size_t i = 0; i < n; ++i)
      estimate[begin + i] = result_value<T>(static_cast<Acc>(widen(own[i]) / weight), 1);
  }
}

}  // namespace sparsecoll::host
