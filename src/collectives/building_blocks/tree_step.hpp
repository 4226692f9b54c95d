// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
//
// Computes which regions each rank sends and receives in the exchange of tree_exchange.hpp.
#pragma once

#include <span>
#include <vector>

#include "collectives/network/topology.hpp"

namespace sparsecoll {

/// One step of the tree as a rank sees it: the exchange between the subgroups of its group.
class TreeStep {
 public:
  /// Step 0 is that of the innermost groups; there are groups.levels() + 1 steps.
  TreeStep(const Topology& groups, int step, int rank);

  /// The subgroups of this rank's group, by their lowest ranks.
  std::span<const int> subgroups() const { return subgroups_; }
  /// Returns whether this rank holds the region of `owner` in its subgroup.
  bool holds_inside(int owner) const { return holder(step_ - 1, subgroup(rank_), owner) == rank_; }
  /// Returns the rank that holds the region of `owner` in a subgroup.
  int holder_in(int subgroup, int owner) const { return holder(step_ - 1, subgroup, owner); }
  /// Returns the rank that holds the region of `owner` in this rank's group.
  int holder_of_group(int owner) const;

 private:
  bool in_group(int rank) const;
  int subgroup(int rank) const { return step_ == 0 ? rank : groups_.group_of(step_ - 1, rank); }
  /// Returns the rank that holds the region of `owner` in a group of a level; level -1: the group
  /// is a rank.
  int holder(int level, int group, int owner) const;

  const Topology& groups_;
  const int step_;
  const int rank_;
  std::vector<int> subgroups_;
};

/// A region that this rank sends or receives in a step.
struct TreeLeg {
  int owner;
  int peer;
  size_t position = 0;  ///< position of the sender's subgroup
};

/// Sorts the regions to send by the distance of the receiver, so that no two ranks send to the same
/// rank at a time. Messages between two ranks stay in the order of the owners.
void rotate(std::vector<TreeLeg>& legs, int rank, int ranks);

}  // namespace sparsecoll
