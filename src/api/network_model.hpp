// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "collectives/network/network.hpp"
#include "collectives/network/topology.hpp"

namespace sparsecoll {

/// The network between the ranks of a communicator. The first call that needs an optional member
/// measures it. Afterwards the member does not change.
struct NetworkModel {
  RankPath path;                     ///< the node and groups of this rank
  std::optional<Network> network;    ///< cost of messages between any two ranks, as measured
  std::optional<Topology> topology;  ///< which ranks share a node, a rack and so on
  bool topology_is_logged = false;   ///< the first call that uses the topology logs it
  std::optional<NodeNetwork>
      nodes;  ///< cost of messages within nodes and between them, as measured
};

}  // namespace sparsecoll
