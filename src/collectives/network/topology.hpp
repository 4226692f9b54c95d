// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sparsecoll {

struct Env;

/// Which ranks share a node. Ranks of a node share its memory and its link to other nodes. The
/// lowest rank of a node is its leader, and nodes are numbered in the order of their leaders. The
/// topology is the same on all ranks.
class Topology {
 public:
  /// Groups the ranks by node. `numbers` has a number for each rank; ranks with the same number
  /// share a node.
  explicit Topology(std::span<const uint64_t> numbers);

  int ranks() const { return static_cast<int>(node_.size()); }
  int nodes() const { return static_cast<int>(ranks_.size()); }
  int node_of(int rank) const { return node_[static_cast<size_t>(rank)]; }
  /// Returns the ranks of a node in ascending order. The first is the leader.
  std::span<const int> ranks_of(int node) const { return ranks_[static_cast<size_t>(node)]; }
  int leader(int node) const { return ranks_of(node).front(); }
  /// Returns the number of ranks on the node that has the most.
  int largest_node_size() const;

 private:
  std::vector<int> node_;
  std::vector<std::vector<int>> ranks_;  ///< by node
};

/// Returns the topology of the communicator. `own` is the number of this rank's node, and the ranks
/// exchange these numbers. Collective; sends ceil(log2 P) messages.
Topology learn_topology(Env& env, uint64_t own);

}  // namespace sparsecoll
