// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Exchange by region. Each rank sends every region of its vector to the region's owner, which adds
// the ranks' vectors (a reduce-scatter); all ranks gather the owners' results (an allgather).
#pragma once

#include <algorithm>
#include <optional>

#include "collectives/building_blocks/received_vectors.hpp"
#include "collectives/building_blocks/rounding.hpp"
#include "collectives/interface/env.hpp"

namespace sparsecoll {

/// This rank's entries in its own region. They are a message if the backend must pack a part of a
/// vector to get it.
struct OwnVector {
  std::optional<SparseSpan> entries;
  ConstBytes message;
};
/// Packs `in` by region, sends each rank the entries of its region, and calls on_message for each
/// message with entries of this rank's region. Destinations rotate, r + 1, r + 2, ..., so that no
/// two ranks send to the same rank at a time.
OwnVector exchange_regions(Env& env, const SparseSpan& in, std::span<const Region> regions,
                           FunctionRef<void(int source, ConstBytes message)> on_message);

/// Sends each region's entries to its owner. Returns the vectors of all ranks for this rank's
/// region, by source.
ReceivedVectors exchange_vectors(Env& env, const SparseSpan& in, std::span<const Region> regions);

/// Returns the entries of a vector that pass the threshold.
SparseSpan survivors(Env& env, const SparseSpan& in, const Threshold& threshold);

/// This rank's region of the sum over ranks: the received vectors, added in rank order.
class RegionSum {
 public:
  /// Sends each region's entries to its owner.
  RegionSum(Env& env, const SparseSpan& in, std::span<const Region> regions);
  /// Begins with the vectors that are received already; `length` is that of this rank's region.
  RegionSum(Env& env, const ReceivedVectors& received, uint64_t length)
      : env_(env), length_(length), received_(received) {}

  uint64_t load() const { return received_.entries; }  ///< entries received, of all ranks
  /// Returns the sum without rounding.
  SparseSpan add();
  /// Returns the sum as it is sent: rounded if the wire rounds, before any selection. The
  /// first call computes it.
  const Rounded& rounded();
  /// Returns the entries of rounded() with a key of at least `key`, which is 1 or more. If nothing
  /// is rounded, the other entries are never written.
  SparseSpan reaching(uint64_t key);
  /// Returns the rounding errors of the sums.
  SparseSpan lost() const { return rounded_ ? rounded_->lost : SparseSpan{}; }

 private:
  SparseBuffer sum_buffer() { return env_.kernels.sparse(std::min(received_.entries, length_)); }

  Env& env_;
  const uint64_t length_;
  const ReceivedVectors received_;
  std::optional<Rounded> rounded_;
};

/// Packs `in`, whose entries are in `region`, into one message. Waits for it. `to_all`: all other
/// ranks get the message and unpack it by MessageUnpacker, so that it may be plain.
Bytes pack_region(Env& env, const SparseSpan& in, const Region& region, bool to_all = false);

/// A rank's region of a vector that is gathered on all ranks.
struct Contribution {
  SparseSpan entries;
  uint64_t number = 0;            ///< a number that is sent with the entries
  uint64_t expected_entries = 0;  ///< estimate of the region's entries, equal on all ranks
};
/// The contributions of all ranks one after another, and their numbers.
struct GatheredVector {
  SparseBuffer entries;
  std::span<const uint64_t> numbers;  ///< by rank
};
/// Gathers the contributions of all ranks on all ranks.
GatheredVector gather_regions(Env& env, const Contribution& part, std::span<const Region> regions);

}  // namespace sparsecoll
