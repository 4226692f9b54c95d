// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

namespace sparsecoll {

struct Env;
class Topology;

/// What messages between the ranks of a communicator cost; the same numbers on all of them.
struct Network {
  double alpha;  ///< seconds a message
  double beta;   ///< seconds a byte
  double gamma;  ///< seconds an entry that its receiver unpacks and adds
};
/// On a core of the early 2020s. Not measured: processors differ less than networks do. Taken for
/// entries on devices, too, since ranks that differ in that must choose alike.
inline constexpr double kGammaOnHost = 4e-9;

/// The same by nodes, several ranks on some of them.
struct NodeNetwork {
  int count;
  int largest;      ///< ranks of the one with the most
  Network within;   ///< between ranks of one node
  Network leaders;  ///< between nodes, while one rank of each sends
};

/// A commodity cluster on 1 Gbit/s Ethernet, the kind of network this library is for: assumed where
/// nothing was measured.
inline constexpr Network kCommodity{30e-6, 1.0 / 117e6, kGammaOnHost};
/// GPUs beside each other, whose messages the host cannot time; next to those they add in no time.
inline constexpr Network kSameMachine{10e-6, 1.0 / 20e9, 0};

/// Measures it, while all ranks send at once; nothing where messages cannot be timed. Collective.
std::optional<Network> measure_network(Env& env);
/// The same of nodes.
std::optional<NodeNetwork> measure_node_network(Env& env, const Topology& topology);

}  // namespace sparsecoll
