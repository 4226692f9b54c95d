// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/network/topology.hpp"

#include <algorithm>
#include <map>

#include "collectives/building_blocks/allgather_messages.hpp"

namespace sparsecoll {

Topology::Topology(std::span<const uint64_t> numbers) {
  std::map<uint64_t, int> node_with;
  for (size_t r = 0; r < numbers.size(); ++r) {
    const int node = node_with.try_emplace(numbers[r], nodes()).first->second;
    if (node == nodes()) ranks_.emplace_back();
    node_.push_back(node);
    ranks_[static_cast<size_t>(node)].push_back(static_cast<int>(r));
  }
}

int Topology::largest_node_size() const {
  size_t most = 0;
  for (const std::vector<int>& ranks : ranks_) most = std::max(most, ranks.size());
  return static_cast<int>(most);
}

Topology learn_topology(Env& env, uint64_t own) {
  std::vector<uint64_t> numbers;
  for (const GatheredMessage& each : allgather_messages(env, {{}, own}, 0))
    numbers.push_back(each.number);
  return Topology(numbers);
}

}  // namespace sparsecoll
