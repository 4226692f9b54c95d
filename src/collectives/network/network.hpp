// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sparsecoll {

struct Env;
class Topology;

/// The cost of messages between the ranks of a communicator. All ranks have the same numbers.
struct Network {
  double alpha;  ///< seconds per message
  double beta;   ///< seconds per byte
  double gamma;  ///< seconds per entry that the receiver unpacks and adds
};
/// Gamma of a processor core of the early 2020s. It is not measured, because processors differ less
/// than networks do. It also stands for devices: ranks with different backends must choose the same
/// algorithm.
inline constexpr double kGammaOnHost = 4e-9;

/// The cost of messages within nodes and between nodes.
struct NodeNetwork {
  int count;        ///< number of nodes
  int largest;      ///< ranks on the node with the most ranks
  Network within;   ///< between ranks of one node
  Network leaders;  ///< between nodes, when one rank of each node sends
};

/// A commodity cluster on 1 Gbit/s Ethernet, the kind of network that this library is for. Used if
/// nothing was measured.
inline constexpr Network kCommodity{30e-6, 1.0 / 117e6, kGammaOnHost};
/// GPUs of one machine. The host cannot time their messages. The time to add entries is
/// negligible beside them.
inline constexpr Network kSameMachine{10e-6, 1.0 / 20e9, 0};

/// Returns the network as text: "alpha 30 us, beta 8.5 ns a byte".
std::string words_of(const Network& network);
/// Returns the costs within and between nodes as text.
std::string words_of(const NodeNetwork& network);

/// Measures the network while all ranks send. Returns nothing if messages cannot be timed.
/// Collective. The statistics do not count it.
std::optional<Network> measure_network(Env& env);
/// Returns the mean of the ranks' numbers. Collective. The statistics do not count it.
uint64_t mean_of_ranks(Env& env, uint64_t own);
/// Returns whether some ranks are nearer to each other than others.
bool has_near_ranks(const Topology& topology);
/// Measures the network within nodes and between their leaders while all ranks send. Returns
/// nothing if messages cannot be timed. Collective. The statistics do not count it.
std::optional<NodeNetwork> measure_node_network(Env& env, const Topology& topology);

}  // namespace sparsecoll
