// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace sparsecoll {

/// The times of the algorithms that Auto has tried for one shape, and whose turn it is next.
///
///   1. The candidates take turns. Each is called twice without a timing, because it first learns
///      its thresholds and regions and takes memory, and then three times with one. All are timed
///      at about the same time, because early calls change: residuals grow, and sums with them.
///   2. A candidate whose first two timings are over twice the least of the others is not tried
///      again. One alone says little: a rank may have waited for its CPU.
///   3. Then the one with the least time is taken. Every 64th call is timed. If it takes over twice
///      the least time of its algorithm, and longer than another algorithm took, the trials start
///      again. They also do so once after 64 calls, then after each 1,024, and if the number of
///      entries changes by a third.
///
/// The time of a call is the mean over the ranks. It includes waiting for late ranks, which does
/// not depend on the algorithm. The members are the same on all ranks, except for `own_`.
class Trials {
 public:
  static constexpr size_t kMost = 8;  ///< algorithms, by their place in algorithms()

  /// Returns the candidate to take in the next call. `candidates`: places in algorithms(), the one
  /// with the least predicted time first. `entries`: those of the last call; 0: unknown, or given
  /// by k.
  size_t next(std::span<const size_t> candidates, uint64_t entries);
  /// Returns whether the last call was a trial.
  bool trying() const { return trying_; }
  /// Notes how long the call took on this rank.
  void set_own(uint64_t nanoseconds) { own_ = nanoseconds; }
  /// Returns this rank's time of the last call if the ranks have not agreed on that yet.
  std::optional<uint64_t> own() const;
  /// Notes the time of the last call, on which the ranks have agreed.
  void agree(uint64_t nanoseconds);

  /// Returns the least time of an algorithm in nanoseconds; 0: it was not timed.
  uint64_t least(size_t algorithm) const { return tried_[algorithm].least; }
  /// Returns the parts that are equal on all ranks.
  std::array<uint64_t, 3 * kMost + 5> words() const;

 private:
  struct Tried {
    uint64_t calls = 0;    ///< calls in the trials; the first two have no timing
    uint64_t timings = 0;  ///< of those
    uint64_t least = 0;    ///< ns; 0: none
  };

  /// Returns the least time of all algorithms but this one; 0: there is none.
  uint64_t least_of_others(size_t algorithm) const;
  bool needs_trial(size_t algorithm) const;
  void restart();

  std::array<Tried, kMost> tried_{};
  uint64_t limit_ = 64;   ///< calls after which the trials start again
  uint64_t calls_ = 0;    ///< since the trials have started
  uint64_t entries_ = 0;  ///< entries of a call when the trials started; 0 = unknown
  uint64_t last_ = 0;     ///< the algorithm of the last call
  bool trying_ = false;   ///< see trying()
  bool due_ = false;      ///< the last call is or was timed, and the ranks have not agreed on it
  uint64_t own_ = 0;
};

}  // namespace sparsecoll
