// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// The alpha-beta-gamma model by which Auto chooses. Every algorithm has its formula, seconds(), in
// its own file; here are the terms that the formulas share.
//
// A message costs alpha, a byte beta, and an entry that is unpacked and added gamma (network.hpp).
// An entry that is only concatenated costs half of gamma, a value without an index a sixteenth. Of
// j messages that are under way at the same time each costs a quarter of alpha, which is the
// software on both sides; all of them cost at least one alpha. x entries of n have b(x) bytes: a
// value each and, coded, 2 + log2(n / x) bits of index, or n / x in a bitmap.
//
// A rank contributes e entries: k; if the sum is exact or a whole vector is selected, what it had
// on average in the last call. The result has u entries: k; for an exact sum what the last call
// had; for a whole vector at most min(P e, n). The formulas leave out the sums of counters for
// regions and thresholds, of which there are few if calls resemble the last ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/network.hpp"

namespace sparsecoll {

/// What Auto decides by; the same on all ranks.
struct Shape {
  int ranks;
  uint64_t count;
  size_t k;
  size_t value_size;                   ///< bytes of a value on the wire
  uint64_t entries;                    ///< of all ranks in the last call; 0: unknown
  uint64_t result = 0;                 ///< of an exact sum: entries of the last result; 0: unknown
  const NodeNetwork* nodes = nullptr;  ///< null: Auto may not take Hierarchical
  /// All of a dense vector is selected, and its values travel as they are.
  bool selects_all = false;

  /// Whether the number of entries is known only from the last call.
  bool entries_unknown() const;
};

/// Entries that an exchange moves.
struct EntryCounts {
  double own;       ///< e, contributed by each rank
  double result;    ///< u
  double unpruned;  ///< entries of a sum of which nothing is dropped: min(P e, n)
};
EntryCounts entry_counts(const Shape& shape);

/// Returns ceil(log2(ranks)) as a double.
double rounds_of(int ranks);
/// Returns b(entries) in bytes.
double bytes_of(double entries, const Shape& shape);
/// Returns the seconds of so many messages that are under way at the same time, without their
/// bytes.
double latency_of(double messages, double alpha);

/// Returns the seconds of a reduce-scatter of sparse vectors with `own` entries and an allgather of
/// the sums, `result` entries in all:
///   latency(P - 1) + ceil(log2 P) alpha
///   + (P - 1) / P ((b(own) + b(result)) beta + (own + result / 2) gamma)
double reduce_and_gather_seconds(double own, double result, const Shape& shape,
                                 const Network& network);

}  // namespace sparsecoll
