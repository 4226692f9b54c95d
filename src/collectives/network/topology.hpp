// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sparsecoll/sparsecoll.h"

namespace sparsecoll {

class Arena;
class Call;
struct Env;

/// The source of the groups above the node. Messages have these numbers.
enum class TopologySource : uint64_t { machine = 0, slurm = 1, file = 2 };

/// The link by which a group reaches the other groups of its level, as far as it is known.
struct GroupLink {
  std::optional<double> bytes_per_second;
  std::optional<double> latency;  ///< seconds
};

/// A rank's node and groups, by number. Ranks that have the same number on a level are in the same
/// group. The ranks exchange these structs as bytes.
struct RankPath {
  static constexpr size_t kMostGroups = SPARSECOLL_MAX_LEVELS - 1;

  uint64_t node = 0;
  TopologySource source = TopologySource::machine;
  uint64_t levels = 0;                         ///< number of levels above the node
  std::array<uint64_t, kMostGroups> groups{};  ///< the innermost first
  uint64_t leaf = 0;                           ///< Slurm: a number of the node's address
};

/// Knows which ranks share a node, and which nodes share a group on each level above. Ranks of a
/// node share its memory and its link to other nodes. On every level groups are numbered by their
/// lowest ranks; the lowest rank of a group is its leader. The topology is the same on all ranks.
class Topology {
 public:
  /// Groups the ranks by node. `numbers` has a number for each rank; ranks with the same number
  /// share a node.
  explicit Topology(std::span<const uint64_t> numbers);
  /// Groups the ranks by level. Slurm's addresses are used only if all ranks have one, ranks of a
  /// node have the same, and ranks of different nodes have different ones. If a rank has fewer
  /// levels than others, its innermost group stands for the levels that it lacks. Throws
  /// InvalidArgument if a group divides a node, or a group of a lower level.
  explicit Topology(std::span<const RankPath> paths);

  TopologySource source() const { return source_; }
  /// Returns the number of levels. Level 0 is the node.
  int levels() const { return static_cast<int>(levels_.size()); }
  int ranks() const { return levels_.empty() ? 0 : static_cast<int>(levels_.front().group.size()); }
  int groups(int level) const { return static_cast<int>(at(level).ranks.size()); }
  int group_of(int level, int rank) const { return at(level).group[static_cast<size_t>(rank)]; }
  /// Returns the ranks of a group in ascending order. The first is the leader.
  std::span<const int> ranks_of_group(int level, int group) const {
    return at(level).ranks[static_cast<size_t>(group)];
  }

  int nodes() const { return groups(0); }
  int node_of(int rank) const { return group_of(0, rank); }
  std::span<const int> ranks_of(int node) const { return ranks_of_group(0, node); }
  int leader(int node) const { return ranks_of(node).front(); }
  /// Returns the number of ranks on the node that has the most.
  int largest_node_size() const;
  /// Returns the groups of the leaders alone, rank j being the leader of node j, from level 1 on;
  /// levels on which all nodes are in one group, or each in its own, are left out. It has no node,
  /// and may have no level.
  Topology of_leaders() const;

 private:
  struct Level {
    std::vector<int> group;               ///< by rank
    std::vector<std::vector<int>> ranks;  ///< by group
  };
  Topology() = default;
  const Level& at(int level) const { return levels_[static_cast<size_t>(level)]; }
  /// Adds a level above the others.
  void add_level(std::span<const uint64_t> numbers);
  void check_nesting() const;

  TopologySource source_ = TopologySource::machine;
  std::vector<Level> levels_;
};

/// Gathers the paths of all ranks, by rank. Collective; sends ceil(log2 P) messages.
std::vector<RankPath> gather_paths(Call& call, Arena& arena, const RankPath& own);

}  // namespace sparsecoll
