// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Selects among sparse entries with the loops of sparse_simd.hpp, or with the plain loops if a
// function gets null instead.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <type_traits>
#include <utility>

#include "kernels/host/select.hpp"
#include "kernels/host/sparse_simd.hpp"

namespace sparsecoll::host {

/// The smallest number of values for which a sample pays.
constexpr size_t kSampledFrom = 8192, kSample = 1024;

/// Estimates a range [begin, end) of keys that almost always holds the k-th largest key of the
/// values: six standard deviations of the number of sampled values among the k largest.
template <class T>
std::pair<uint64_t, uint64_t> likely_key_range(std::span<const T> values, size_t k) {
  std::array<Key<T>, kSample> keys;
  for (size_t i = 0; i < kSample; ++i) keys[i] = key_of(values[values.size() / kSample * i]);
  const double share = static_cast<double>(k) / static_cast<double>(values.size());
  const double mean = share * kSample, margin = 6 * std::sqrt(mean * (1 - share)) + 8;
  const auto key_at = [&](double rank) -> uint64_t {
    const auto at = keys.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(keys.begin(), at, keys.end(), std::greater<>());
    return *at;
  };
  const uint64_t begin = mean + margin < kSample ? std::max<uint64_t>(key_at(mean + margin), 1) : 1;
  const uint64_t end = mean > margin ? std::max(key_at(mean - margin), begin + 1) : kKeyEnd<T>;
  return {begin, end};
}

/// Does what find_threshold() does. Reads the values only once if a sample shows where to look.
template <class T>
Threshold find_threshold(std::span<const T> values, size_t k, Arena& arena,
                         const SparseLoops* loops) {
  if constexpr (!Integer<T>) {
    if (loops && values.size() >= kSampledFrom && k > 0 && k <= values.size()) {
      const auto [begin, end] = likely_key_range(values, k);
      const Arena::Scope scope(arena);
      Key<T>* const few = arena.take<Key<T>>(values.size());
      const KeyRangeTask<T, Key<T>> key_range{values.data(), values.size(), begin, end, few};
      KeyRangeCounts found;
      if constexpr (std::is_same_v<T, float>)
        found = loops->key_range_f32(key_range);
      else
        found = loops->key_range_f64(key_range);
      if (found.above < k && k <= found.above + found.within) {
        const auto key_at = [few](size_t j) -> uint64_t { return few[j]; };
        const Threshold threshold = find_threshold<T>(found.within, k - found.above, key_at);
        if (threshold.ties > 0) return threshold;
        return {std::max(threshold.key, begin - 1), 0};  // keys below the range do not pass
      }
    }
  }
  return find_threshold(values, k, values.size(), arena);
}

/// Does what part() of select.hpp does.
template <class T, class I>
void partition(const View<T, I>& in, const Threshold& threshold, const SparseBuffer& kept,
               const SparseBuffer& dropped, const SparseLoops* loops) {
  if constexpr (std::is_same_v<I, uint32_t> && !Integer<T>) {
    if (loops && in.index && threshold.ties == 0) {
      const bool both = dropped.capacity > 0;
      const PartitionTask<T> partition{in.index,
                                       in.value,
                                       in.nnz,
                                       threshold.key,
                                       static_cast<uint32_t*>(kept.index),
                                       static_cast<T*>(kept.value),
                                       both ? static_cast<uint32_t*>(dropped.index) : nullptr,
                                       static_cast<T*>(dropped.value)};
      PartitionCounts found;
      if constexpr (std::is_same_v<T, float>)
        found = loops->partition_f32(partition);
      else
        found = loops->partition_f64(partition);
      *kept.nnz = found.kept;
      if (both) *dropped.nnz = found.dropped;
      return;
    }
  }
  partition(in, threshold, kept, dropped);
}

}  // namespace sparsecoll::host
