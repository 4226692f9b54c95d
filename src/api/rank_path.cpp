// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/rank_path.hpp"

#include <algorithm>
#include <string_view>

#include "api/topology_tree.hpp"
#include "core/checksum.hpp"
#include "core/machine.hpp"

namespace sparsecoll {

namespace {

uint64_t number_of(std::string_view text) {
  return checksum(std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace

void add_slurm_path(const std::string& address, const std::string& pattern, RankPath& path) {
  if (address.empty() || std::ranges::count(address, '.') != std::ranges::count(pattern, '.'))
    return;
  path.source = TopologySource::slurm;
  path.leaf = number_of(address);
  // The address without its last component names the innermost group. Without its last two
  // components it names the next group outwards, and so on.
  for (std::string_view rest = address;
       rest.find('.') != std::string_view::npos && path.levels < RankPath::kMostGroups;) {
    rest = rest.substr(0, rest.rfind('.'));
    path.groups[path.levels++] = number_of(rest);
  }
}

uint64_t node_of(int rank, const Config& config, const Link& link) {
  return config.ranks_per_node > 0 ? static_cast<uint64_t>(rank / config.ranks_per_node)
                                   : link.node();
}

std::vector<GroupLinks> links_of_groups(const TopologyTree& tree, const Topology& topology) {
  std::vector<GroupLinks> links;
  const std::vector<GroupLink> told = tree.links();
  for (int level = 1; level < topology.levels(); ++level) {
    const GroupLink& link = told[static_cast<size_t>(level - 1)];
    const int groups = topology.groups(level);
    if (!link.bytes_per_second || groups == 1 || groups == topology.nodes()) continue;
    size_t most = 0;
    for (int group = 0; group < groups; ++group)
      most = std::max(most, topology.ranks_of_group(level, group).size());
    links.push_back(
        {groups, static_cast<int>(most), 1 / *link.bytes_per_second, link.latency.value_or(0)});
  }
  return links;
}

RankPath path_of(const Config& config, const Link& link) {
  RankPath path;
  path.node = node_of(link.rank(), config, link);
  if (!config.tree) {
    add_slurm_path(config.slurm_address, config.slurm_pattern, path);
    return path;
  }
  path.source = TopologySource::file;
  for (const uint64_t group : config.tree->path_of(link.rank(), host_name()))
    path.groups[path.levels++] = group;
  return path;
}

}  // namespace sparsecoll
