// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "collectives/network/topology.hpp"
#include "core/sparse.hpp"

namespace sparsecoll {

/// The shards of a vector for Sharded: S ranges of about equal length, where S is the number of
/// ranks on the smallest node. On each node the S lowest ranks own one shard each, in rank order.
class Shards {
 public:
  /// Cuts a vector of `count` values. The topology outlives the object.
  Shards(const Topology& topology, uint64_t count);

  /// Returns S.
  int number() const { return number_; }
  Region region(int shard) const;
  /// Returns how many of the k entries are selected in a shard, at most its length.
  size_t quota(int shard, size_t k) const;
  /// Returns the shard that a rank owns, if any.
  std::optional<int> owned_by(int rank) const;
  /// Returns the region of the shard that a rank owns; an empty one if it owns none.
  Region region_of(int rank) const;

 private:
  const Topology& topology_;
  uint64_t count_;
  int number_;
};

}  // namespace sparsecoll
