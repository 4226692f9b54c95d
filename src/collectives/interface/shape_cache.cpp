// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/interface/shape_cache.hpp"

#include <algorithm>

#include "core/checksum.hpp"

namespace sparsecoll {

namespace {
constexpr size_t kFixedWords = 10;
}

std::vector<uint64_t> ShapeCache::words() const {
  std::vector<uint64_t> words{
      own_threshold, calls_since_repartition, overloaded, threshold,        entries,
      threshold_age, reused_threshold,        result,     threshold_change, exact_calls};
  words.insert(words.end(), boundaries.begin(), boundaries.end());
  return words;
}

std::optional<ShapeCache> ShapeCache::from_words(std::span<const uint64_t> words) {
  if (words.size() < kFixedWords || words[2] > 1) return std::nullopt;
  const std::span<const uint64_t> boundaries = words.subspan(kFixedWords);
  if (!std::is_sorted(boundaries.begin(), boundaries.end())) return std::nullopt;
  ShapeCache cache;
  cache.boundaries.assign(boundaries.begin(), boundaries.end());
  cache.own_threshold = words[0];
  cache.calls_since_repartition = words[1];
  cache.overloaded = words[2] != 0;
  cache.threshold = words[3];
  cache.entries = words[4];
  cache.threshold_age = words[5];
  cache.reused_threshold = words[6];
  cache.result = words[7];
  cache.threshold_change = words[8];
  cache.exact_calls = words[9];
  return cache;
}

uint64_t ShapeCache::hash() const {
  ShapeCache agreed = *this;
  agreed.own_threshold = 0;
  const std::vector<uint64_t> words = agreed.words();
  return checksum(std::as_bytes(std::span(words)));
}

}  // namespace sparsecoll
