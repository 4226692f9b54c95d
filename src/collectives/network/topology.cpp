// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/network/topology.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "calls/basic_collectives.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

/// Returns a number for each rank, made by `number_of` from its path.
template <class NumberOf>
std::vector<uint64_t> numbers_of(std::span<const RankPath> paths, NumberOf number_of) {
  std::vector<uint64_t> numbers;
  for (const RankPath& each : paths) numbers.push_back(number_of(each));
  return numbers;
}

/// Returns whether Slurm's addresses tell the nodes apart, and only the nodes.
bool slurm_is_consistent(std::span<const RankPath> paths) {
  std::map<uint64_t, uint64_t> leaf_of, node_of;
  for (const RankPath& each : paths) {
    if (each.source != TopologySource::slurm) return false;
    if (leaf_of.try_emplace(each.node, each.leaf).first->second != each.leaf) return false;
    if (node_of.try_emplace(each.leaf, each.node).first->second != each.node) return false;
  }
  return true;
}

/// Returns the number of a rank's group on a level of a tree with `all` levels. Level 0 is the
/// innermost. Levels are aligned at the outermost one.
uint64_t group_number(const RankPath& path, size_t level, size_t all) {
  if (path.levels == 0) return path.node;
  const size_t missing = all - std::min<size_t>(path.levels, all);
  return path.groups[level < missing ? 0 : level - missing];
}

}  // namespace

Topology::Topology(std::span<const uint64_t> numbers) { add_level(numbers); }

Topology::Topology(std::span<const RankPath> paths) {
  add_level(numbers_of(paths, [](const RankPath& path) { return path.node; }));
  const TopologySource told = paths.front().source;
  if (told == TopologySource::machine ||
      (told == TopologySource::slurm && !slurm_is_consistent(paths)))
    return;
  size_t all = 0;
  for (const RankPath& each : paths) all = std::max<size_t>(all, each.levels);
  all = std::min(all, RankPath::kMostGroups);
  for (size_t level = 0; level < all; ++level)
    add_level(
        numbers_of(paths, [&](const RankPath& path) { return group_number(path, level, all); }));
  if (all > 0) source_ = told;
  check_nesting();
}

void Topology::add_level(std::span<const uint64_t> numbers) {
  Level level;
  std::map<uint64_t, int> group_with;
  for (size_t r = 0; r < numbers.size(); ++r) {
    const int next = static_cast<int>(level.ranks.size());
    const int group = group_with.try_emplace(numbers[r], next).first->second;
    if (group == next) level.ranks.emplace_back();
    level.group.push_back(group);
    level.ranks[static_cast<size_t>(group)].push_back(static_cast<int>(r));
  }
  levels_.push_back(std::move(level));
}

void Topology::check_nesting() const {
  for (int level = 1; level < levels(); ++level) {
    for (int inner = 0; inner < groups(level - 1); ++inner) {
      const std::span<const int> ranks = ranks_of_group(level - 1, inner);
      for (const int rank : ranks)
        if (group_of(level, rank) != group_of(level, ranks.front()))
          fail(sparsecollInvalidArgument, "SPARSECOLL_TOPOLOGY: levels[", level - 1, "] divides a ",
               level == 1 ? "node" : text("group of levels[", level - 2, "]"), ": ranks ",
               ranks.front(), " and ", rank, " are in one, but in different groups");
    }
  }
}

int Topology::largest_node_size() const {
  size_t most = 0;
  for (const std::vector<int>& ranks : levels_.front().ranks) most = std::max(most, ranks.size());
  return static_cast<int>(most);
}

Topology Topology::of_leaders() const {
  Topology between;
  between.source_ = source_;
  for (int level = 1; level < levels(); ++level) {
    if (groups(level) == 1 || groups(level) == nodes()) continue;
    std::vector<uint64_t> numbers;
    for (int node = 0; node < nodes(); ++node)
      numbers.push_back(static_cast<uint64_t>(group_of(level, leader(node))));
    between.add_level(numbers);
  }
  return between;
}

std::vector<RankPath> gather_paths(Call& call, Arena& arena, const RankPath& own) {
  std::vector<RankPath> paths;
  for (const ConstBytes each : allgather_equal(call, arena, std::as_bytes(std::span(&own, 1)))) {
    RankPath path;
    std::memcpy(&path, each.data(), sizeof path);
    if (path.levels > RankPath::kMostGroups)
      fail(sparsecollRemoteError, "rank ", paths.size(), " sent a path of ", path.levels,
           " levels");
    paths.push_back(path);
  }
  return paths;
}

}  // namespace sparsecoll
