// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collectives/interface/trials.hpp"

namespace sparsecoll {

/// The numbers that a call of one shape keeps for the next call. They are computed from data that
/// all ranks have, so that they are equal on all ranks, except for `own_threshold`. With Sharded,
/// all numbers but `shards` are equal only on the owners of the same shard. A call works on a copy,
/// which the commit stores.
struct ShapeCache {
  std::vector<uint64_t> boundaries;  ///< Ok-Topk: the P + 1 boundaries of regions
  uint64_t calls_since_repartition = 0;
  bool overloaded = false;        ///< an owner received over twice the mean load
  uint64_t threshold = 0;         ///< key of the last global threshold; 0 = none
  uint64_t threshold_change = 0;  ///< largest change of `threshold` in recent calls; 0 = unknown
  uint64_t exact_calls = 0;       ///< calls left in which the threshold is not predicted
  uint64_t entries = 0;           ///< entries of all ranks in the last call; 0 = unknown
  uint64_t result = 0;            ///< entries of the last exact sum; 0 = unknown
  int logged_choice = 0;          ///< Auto's last choice in the log; 0: none; -1: trials since
  Trials trials;                  ///< Auto's; not part of words()
  // Ok-Topk with reused thresholds. Thresholds are keys; 0 = none.
  uint64_t threshold_age = 0;     ///< calls since exact thresholds were due; 0 = due now
  uint64_t reused_threshold = 0;  ///< threshold of the sum
  uint64_t own_threshold = 0;     ///< threshold of this rank's selection; no other rank knows it
  uint64_t shards = 0;            ///< Sharded: a hash of the caches of all shards; 0 = no such call

  /// Returns a hash of the parts that are equal on all ranks. By it the ranks detect that they
  /// restored caches of different calls, or that only some of them did.
  uint64_t hash() const;

  /// Returns the cache as words for a file or a message.
  /// from_words() is the inverse. It returns nothing if the words are not those of a cache.
  std::vector<uint64_t> words() const;
  static std::optional<ShapeCache> from_words(std::span<const uint64_t> words);

 private:
  static constexpr size_t kFixedWords = 10;
  /// Returns the words that every cache has. They precede the others.
  std::array<uint64_t, kFixedWords> fixed_words() const;
};

}  // namespace sparsecoll
