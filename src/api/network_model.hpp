// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "collectives/network/network.hpp"
#include "collectives/network/topology.hpp"

namespace sparsecoll {

/// The network between the ranks of a communicator. A call measures an optional member when it
/// first needs it. Then the member stays as it is.
struct NetworkModel {
  RankPath path;                     ///< where this rank is
  std::optional<Network> network;    ///< cost of messages between any two ranks, as measured
  std::optional<Topology> topology;  ///< which ranks share a node, a rack and so on
  bool topology_is_logged = false;   ///< when a call first uses it
  std::optional<NodeNetwork>
      nodes;  ///< cost of messages within nodes and between them, as measured
};

}  // namespace sparsecoll
