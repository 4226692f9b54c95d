// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/config.hpp"
#include "calls/link.hpp"
#include "collectives/network/cost_model.hpp"
#include "collectives/network/topology.hpp"

namespace sparsecoll {

/// Returns the number of the node of a rank that is on this machine, in a communicator without a
/// parent.
uint64_t node_of(int rank, const Config& config, const Link& link);

/// Returns the node of this rank in a communicator without a parent, and its groups as
/// SPARSECOLL_TOPOLOGY or Slurm says. Throws InvalidArgument if the file has no group for the rank.
RankPath path_of(const Config& config, const Link& link);

/// Returns the links of the groups of this topology, for the levels whose rate the file
/// has.
std::vector<GroupLinks> links_of_groups(const TopologyTree& tree, const Topology& topology);

/// Adds to a path the switches above the node, as Slurm's variables name them: "s0.s1.node3" with
/// the pattern "switch.switch.node". Changes nothing if these are empty or do not match.
void add_slurm_path(const std::string& address, const std::string& pattern, RankPath& path);

}  // namespace sparsecoll
