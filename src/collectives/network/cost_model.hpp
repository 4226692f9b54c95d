// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// The alpha-beta-gamma model by which Auto chooses. Every algorithm has its formula, seconds(), in
// its own file. This file has the terms that the formulas share.
//
// A message costs alpha, a byte beta, and an entry that is unpacked and added gamma (network.hpp).
// An entry that is only concatenated costs half of gamma, a value without an index a sixteenth; so
// does each value of a block beyond its first. If
// several messages are under way at the same time, each costs a quarter of alpha, the share of the
// software on both sides; together they cost at least one alpha. A message of x entries out of n
// has b(x) bytes: for each entry a value and an index of 2 + log2(n / x) bits, or of n / x bits in
// a bitmap if that is less.
//
// A rank contributes e entries: k or, for an exact sum or a vector that is selected as a whole, the
// ranks' mean in the last call. The result has u entries: k or, for an exact sum, as many as in the
// last call, or, for a vector that is selected as a whole, at most min(P e, n). The formulas leave
// out the sums of counters for regions and thresholds: there are few if calls resemble each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/network/network.hpp"

namespace sparsecoll {

/// The links of the groups of one level above the node.
struct GroupLinks {
  int groups;
  int ranks;       ///< ranks of the largest group
  double beta;     ///< seconds per byte through the link of a group
  double latency;  ///< seconds
};

/// The numbers on which Auto's choice depends. They are equal on all ranks.
struct ProblemSize {
  int ranks;
  uint64_t count;
  size_t k;
  size_t value_size;                   ///< bytes of a value on the wire
  uint64_t entries;                    ///< entries of all ranks in the last call; 0: unknown
  uint64_t result = 0;                 ///< entries of the last result of an exact sum; 0: unknown
  const NodeNetwork* nodes = nullptr;  ///< null: Auto may not take Hierarchical
  /// True if all of a dense vector is selected and its values are sent without rounding.
  bool selects_all = false;
  /// The levels above the node on which there are several groups, and whose rates are known.
  std::span<const GroupLinks> levels = {};

  /// Returns whether an exact sum is asked for and no earlier call has counted its entries.
  bool entries_unknown() const;
};

/// The numbers of entries that the formulas use.
struct EntryCounts {
  double own;       ///< e, the entries that each rank contributes
  double result;    ///< u, the entries of the result
  double unpruned;  ///< the entries of the sum before a selection: min(P e, n)
};
/// Returns the numbers of entries of a call.
EntryCounts entry_counts(const ProblemSize& size);

/// Returns ceil(log2(ranks)) as a double.
double rounds_of(int ranks);
/// Returns b(entries), the bytes of a message with this number of entries.
double bytes_of(double entries, const ProblemSize& size);
/// Returns the seconds for a number of messages that are under way at the same time, without the
/// time for their bytes.
double latency_of(double messages, double alpha);

/// Returns the seconds of a reduce-scatter of sparse vectors with `own` entries and an allgather of
/// the sums, `result` entries in all:
///   latency(P - 1) + ceil(log2 P) alpha
///   + (P - 1) / P ((b(own) + b(result)) beta + (own + result / 2) gamma)
double reduce_and_gather_seconds(double own, double result, const ProblemSize& size,
                                 const Network& network);

}  // namespace sparsecoll
