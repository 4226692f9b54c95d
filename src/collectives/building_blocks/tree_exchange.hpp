// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
//
// The exchange by region (region_exchange.hpp) between ranks that are in groups, on any number of
// levels. Only sums leave a group, and a result enters a group only once.
//
// Every region o of the vector has an owner, rank o. In every other group one rank is the *holder*
// of the region. Each rank of a group holds about as many regions as the others.
//
//   Sum, from the innermost level outwards: the holders of a group's subgroups send their sums of a
//   region to its holder in the group, or to its owner if that is in the group. The receiver adds
//   them in the order of the subgroups' lowest ranks. On the innermost level every rank is a
//   subgroup, on the outermost all ranks are one group.
//   Gather, from the outermost level inwards: the same messages in the opposite direction.
//
// Cost per rank for regions of equal load: with s subgroups in each group of a level, and g ranks
// in each, P (s - 1) / (s g) messages each way. Through the link of a group go its sum's entries in
// the regions of other owners, once, and likewise those of the result.
#pragma once

#include "collectives/building_blocks/region_exchange.hpp"

namespace sparsecoll {

class Topology;

/// Sends sums of each region through the groups to its owner. Returns the sums of the outermost
/// groups for this rank's region, in the order of their lowest ranks.
ReceivedVectors sum_by_tree(Env& env, const SparseSpan& in, std::span<const Region> regions,
                            const Topology& groups);

/// Gathers the contributions of all ranks on all ranks, through the groups. Every rank has made
/// sum_by_tree() in this call before: whoever receives a contribution knows that all ranks take
/// part.
GatheredVector gather_by_tree(Env& env, const Contribution& part, std::span<const Region> regions,
                              const Topology& groups);

}  // namespace sparsecoll
