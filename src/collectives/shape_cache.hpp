// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sparsecoll {

/// What one shape of call left for the next: equal on all ranks but for `own_threshold`, since it
/// is computed from what all ranks know. A call works on a copy that the commit keeps.
struct ShapeCache {
  std::vector<uint64_t> boundaries;  ///< Ok-Topk: P + 1 region borders
  uint64_t calls_since_repartition = 0;
  bool overloaded = false;        ///< an owner had more than twice the mean load
  uint64_t threshold = 0;         ///< last global threshold as a key; 0 = none
  uint64_t threshold_change = 0;  ///< how far it moved lately from call to call; 0 = unknown
  uint64_t exact_calls = 0;       ///< calls in which nothing is guessed from these two
  uint64_t entries = 0;           ///< entries of all ranks in the last call; 0 = unknown
  uint64_t result = 0;            ///< of an exact sum: entries in the last one; 0 = unknown
  int chosen = 0;                 ///< by Auto, in the last call; of no use to the next one
  // Ok-Topk with reused thresholds; keys, 0 = none.
  uint64_t threshold_age = 0;     ///< calls since thresholds were due; 0 = due now
  uint64_t reused_threshold = 0;  ///< of the sum
  uint64_t own_threshold = 0;     ///< of this rank's own selection: no other rank knows it

  /// Of what is equal on all ranks. Ranks that restored it from files of different calls, or only
  /// some of them, find out by it.
  uint64_t hash() const;

  /// As words for a file; the way back, which is none for words that are not such.
  std::vector<uint64_t> words() const;
  static std::optional<ShapeCache> from_words(std::span<const uint64_t> words);
};

}  // namespace sparsecoll
