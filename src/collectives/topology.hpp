// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sparsecoll {

struct Env;

/// Which ranks share a node: its memory, and its way to all others. Nodes are numbered by
/// their lowest ranks, which are their leaders. The same on all ranks.
class Topology {
 public:
  /// From a number for each rank's node, by rank; ranks with the same one share it.
  explicit Topology(std::span<const uint64_t> numbers);

  int nodes() const { return static_cast<int>(ranks_.size()); }
  int node_of(int rank) const { return node_[static_cast<size_t>(rank)]; }
  /// Rising, the leader first.
  std::span<const int> ranks_of(int node) const { return ranks_[static_cast<size_t>(node)]; }
  int leader(int node) const { return ranks_of(node).front(); }
  /// Ranks of the node with the most.
  int largest_node_size() const;

 private:
  std::vector<int> node_;
  std::vector<std::vector<int>> ranks_;  ///< by node
};

/// What the ranks tell each other, `own` being the number of this one's node. Collective; costs
/// ceil(log2 P) messages.
Topology learn_topology(Env& env, uint64_t own);

}  // namespace sparsecoll
