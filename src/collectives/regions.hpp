// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "collectives/algorithm.hpp"
#include "collectives/received_vectors.hpp"

namespace sparsecoll {

// Between vectors cut into regions and the messages that carry them.

/// floor(r * count / ranks): where part r of `count` begins when it is shared evenly.
constexpr uint64_t border(uint64_t count, uint64_t ranks, uint64_t r) {
  return count / ranks * r + count % ranks * r / ranks;
}

/// P regions of equal length, but for rounding.
std::span<const Region> uniform_regions(Env& env, uint64_t count);

/// Regions between P + 1 borders.
std::span<const Region> regions_between(Env& env, std::span<const uint64_t> cuts);

/// What a rank has for its own region: its entries where they can be looked at, else a message.
struct OwnVector {
  std::optional<SparseSpan> entries;
  ConstBytes message;
};
/// Packs `in` by regions and sends each rank its own; on_message is told what others have for this
/// rank's region. Destinations rotate, r + 1, r + 2, ..., so that no two ranks hit one receiver
/// together.
OwnVector exchange_regions(Env& env, const SparseSpan& in, std::span<const Region> regions,
                           FunctionRef<void(int source, ConstBytes message)> on_message);

/// What all ranks have for this rank's region.
ReceivedVectors exchange_vectors(Env& env, const SparseSpan& in, std::span<const Region> regions);

/// The entries of a vector that pass.
SparseSpan survivors(Env& env, const SparseSpan& in, const Threshold& threshold);

/// This rank's region of the sum over ranks: the pieces that came for it, added in rank order.
class RegionSum {
 public:
  /// Sends each region's entries to its owner.
  RegionSum(Env& env, const SparseSpan& in, std::span<const Region> regions);

  uint64_t load() const { return received_.entries; }  ///< entries that came in, of all ranks
  SparseSpan add();                                    ///< all of it
  /// The same, made once, as it is to travel. Over a bfloat16 wire that is rounded, before
  /// anything is selected of it.
  const Rounded& whole();
  /// Of that, entries with a key of at least `key` (1 or more). Where nothing is rounded the others
  /// are not even written.
  SparseSpan reaching(uint64_t key);
  /// What rounding took off the sums.
  SparseSpan lost() const { return whole_ ? whole_->lost : SparseSpan{}; }

 private:
  SparseBuffer room() { return env_.kernels.sparse(std::min(received_.entries, length_)); }

  Env& env_;
  const uint64_t length_;
  const ReceivedVectors received_;
  std::optional<Rounded> whole_;
};

/// One message with the entries of `in`, which lie in `region`.
Bytes pack_region(Env& env, const SparseSpan& in, const Region& region);

/// What a rank puts into a vector that all ranks are to have, within its own region.
struct Contribution {
  SparseSpan entries;
  uint64_t number = 0;            ///< a number that travels with it
  uint64_t expected_entries = 0;  ///< its size as far as all ranks know
};
/// The parts of all ranks, one after another, and the numbers beside them.
struct GatheredVector {
  SparseBuffer entries;
  std::span<const uint64_t> numbers;  ///< by rank
};
GatheredVector gather_regions(Env& env, const Contribution& part, std::span<const Region> regions);

/// P regions of about equal load by the ranks' `local` vectors. Cut anew every
/// `repartition_interval` calls of a shape, and at once when an owner was crowded.
std::span<const Region> balanced_regions(Env& env, const Problem& problem, ShapeCache& cache);

/// Notes for the next call how many entries came to each owner.
void remember_loads(std::span<const uint64_t> loads, ShapeCache& cache);

}  // namespace sparsecoll
