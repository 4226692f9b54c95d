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

/// Returns where this rank is in a communicator without a parent: its node, and its
/// groups as SPARSECOLL_TOPOLOGY or Slurm says. Throws InvalidArgument if the file has no group for
/// it.
RankPath path_of(const Config& config, const Link& link);

/// Returns what the file says of the links of the groups between the nodes of this topology, for
/// the levels whose rate it gives.
std::vector<GroupLinks> links_of_groups(const TopologyTree& tree, const Topology& topology);

/// Adds to a path what Slurm's variables say: the switches above the node, from "s0.s1.node3" and
/// "switch.switch.node". Changes nothing if they are empty or do not fit together.
void add_slurm_path(const std::string& address, const std::string& pattern, RankPath& path);

}  // namespace sparsecoll
