// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/network/shards.hpp"

#include <algorithm>

#include "collectives/building_blocks/regions.hpp"

namespace sparsecoll {

Shards::Shards(const Topology& topology, uint64_t count)
    : topology_(topology), count_(count), number_(static_cast<int>(topology.ranks_of(0).size())) {
  for (int node = 1; node < topology.nodes(); ++node)
    number_ = std::min(number_, static_cast<int>(topology.ranks_of(node).size()));
}

Region Shards::region(int shard) const {
  const auto all = static_cast<uint64_t>(number_), s = static_cast<uint64_t>(shard);
  return {even_boundary(count_, all, s), even_boundary(count_, all, s + 1)};
}

size_t Shards::quota(int shard, size_t k) const {
  const auto all = static_cast<uint64_t>(number_), s = static_cast<uint64_t>(shard);
  return std::min(even_boundary(k, all, s + 1) - even_boundary(k, all, s), region(shard).length());
}

std::optional<int> Shards::owned_by(int rank) const {
  const std::span<const int> ranks = topology_.ranks_of(topology_.node_of(rank));
  const auto position = static_cast<int>(std::ranges::find(ranks, rank) - ranks.begin());
  return position < number_ ? std::optional(position) : std::nullopt;
}

Region Shards::region_of(int rank) const {
  const std::optional<int> shard = owned_by(rank);
  return shard ? region(*shard) : Region{};
}

}  // namespace sparsecoll
