// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/building_blocks/tree_step.hpp"

#include <algorithm>

namespace sparsecoll {

TreeStep::TreeStep(const Topology& groups, int step, int rank)
    : groups_(groups), step_(step), rank_(rank) {
  for (int each = 0; each < groups.ranks(); ++each)
    if (in_group(each) && std::ranges::find(subgroups_, subgroup(each)) == subgroups_.end())
      subgroups_.push_back(subgroup(each));
}

int TreeStep::holder_of_group(int owner) const {
  return step_ == groups_.levels() ? owner : holder(step_, groups_.group_of(step_, rank_), owner);
}

bool TreeStep::in_group(int rank) const {
  return step_ == groups_.levels() ||
         groups_.group_of(step_, rank) == groups_.group_of(step_, rank_);
}

int TreeStep::holder(int level, int group, int owner) const {
  if (level < 0) return group;
  if (groups_.group_of(level, owner) == group) return owner;
  const std::span<const int> members = groups_.ranks_of_group(level, group);
  const auto before = std::ranges::lower_bound(members, owner) - members.begin();
  const auto index = static_cast<size_t>(owner - before);  // among the ranks outside the group
  return members[index % members.size()];
}

void rotate(std::vector<TreeLeg>& legs, int rank, int ranks) {
  std::ranges::stable_sort(legs, {},
                           [&](const TreeLeg& leg) { return (leg.peer - rank + ranks) % ranks; });
}

}  // namespace sparsecoll
