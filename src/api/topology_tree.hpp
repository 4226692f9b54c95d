// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "collectives/network/topology.hpp"

namespace sparsecoll {

/// The tree of SPARSECOLL_TOPOLOGY. It says for each level above the node which hosts or ranks are
/// in which group.
class TopologyTree {
 public:
  /// Reads a file (docs/topology.md has its form). Throws InvalidArgument, which names the file,
  /// the line and the key.
  static TopologyTree from_file(const std::string& file);
  /// Reads the text of such a file. `name` is that of the file, for errors.
  static TopologyTree from_text(const std::string& text, const std::string& name);

  size_t levels() const { return levels_.size(); }
  /// Returns a number that is the same on all ranks with the same file. It is not 0, and fits into
  /// an int64_t.
  uint64_t identity() const { return identity_; }
  /// Returns the number of the group of a rank on each level, the innermost first. Throws
  /// InvalidArgument if a level has none for it, or two.
  std::vector<uint64_t> path_of(int rank, const std::string& host) const;
  /// Returns the links of each level, as the file describes them.
  std::vector<GroupLink> links() const;

  /// A level without its members.
  struct Summary {
    std::string name;  ///< may be empty
    size_t groups;
    GroupLink link;
  };
  /// Returns the levels, the innermost first.
  std::vector<Summary> summary() const;

 private:
  /// The ranks from `first` to `last` are in a group.
  struct RankRange {
    int first;
    int last;
    uint64_t group;
    size_t line;
  };
  struct Level {
    std::string name;
    GroupLink link;
    std::unordered_map<std::string, std::pair<uint64_t, size_t>> hosts;  ///< group and line
    std::vector<RankRange> ranks;  ///< ascending, and no two have a rank in common
  };
  friend class TopologyReader;

  std::string name_;
  uint64_t identity_ = 0;
  std::vector<Level> levels_;
};

/// Returns the hosts that a pattern names: "node[0-3,7]" stands for five, "r[1-2]n[01-16]" for 32.
/// Throws InvalidArgument for a pattern that is malformed or names more than `most`.
std::vector<std::string> expand_hosts(const std::string& pattern, size_t most);

/// Returns bytes a second of a rate such as "100Mbit/s". Throws InvalidArgument.
double parse_rate(const std::string& text);
/// Returns the seconds of a time such as "50us". Throws InvalidArgument.
double parse_latency(const std::string& text);

}  // namespace sparsecoll
