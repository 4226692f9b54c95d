// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/interface/shape_cache.hpp"

#include <algorithm>

#include "core/checksum.hpp"

namespace sparsecoll {

namespace {

/// Bits of the third word. With kHasShards one more word follows the fixed ones.
constexpr uint64_t kOverloaded = 1, kHasShards = 2;

}  // namespace

std::array<uint64_t, ShapeCache::kFixedWords> ShapeCache::fixed_words() const {
  const uint64_t flags = (overloaded ? kOverloaded : 0) | (shards != 0 ? kHasShards : 0);
  return {own_threshold, calls_since_repartition, flags,  threshold,        entries,
          threshold_age, reused_threshold,        result, threshold_change, exact_calls};
}

std::vector<uint64_t> ShapeCache::words() const {
  const std::array<uint64_t, kFixedWords> fixed = fixed_words();
  std::vector<uint64_t> words(fixed.begin(), fixed.end());
  if (shards != 0) words.push_back(shards);
  words.insert(words.end(), boundaries.begin(), boundaries.end());
  return words;
}

std::optional<ShapeCache> ShapeCache::from_words(std::span<const uint64_t> words) {
  if (words.size() < kFixedWords || words[2] > (kOverloaded | kHasShards)) return std::nullopt;
  const size_t fixed = kFixedWords + (words[2] & kHasShards ? 1 : 0);
  if (words.size() < fixed) return std::nullopt;
  const std::span<const uint64_t> boundaries = words.subspan(fixed);
  if (!std::is_sorted(boundaries.begin(), boundaries.end())) return std::nullopt;
  ShapeCache cache;
  cache.boundaries.assign(boundaries.begin(), boundaries.end());
  cache.own_threshold = words[0];
  cache.calls_since_repartition = words[1];
  cache.overloaded = words[2] & kOverloaded;
  cache.threshold = words[3];
  cache.entries = words[4];
  cache.threshold_age = words[5];
  cache.reused_threshold = words[6];
  cache.result = words[7];
  cache.threshold_change = words[8];
  cache.exact_calls = words[9];
  if (fixed > kFixedWords) cache.shards = words[kFixedWords];
  return cache;
}

uint64_t ShapeCache::hash() const {
  if (shards != 0) return checksum(std::as_bytes(std::span(&shards, 1)));
  std::array<uint64_t, kFixedWords> agreed = fixed_words();
  agreed[0] = 0;  // only this rank knows own_threshold
  const auto tried = trials.words();
  // The checksum of all these words. Every call needs it, so that nothing is allocated.
  size_t bytes = 0;
  uint64_t sum = 0;
  for (const auto& words :
       {std::span<const uint64_t>(agreed), std::span<const uint64_t>(boundaries),
        std::span<const uint64_t>(tried)}) {
    sum += checksum_of_chunk(std::as_bytes(words), bytes);
    bytes += words.size_bytes();
  }
  return mix(bytes) + sum;
}

}  // namespace sparsecoll
