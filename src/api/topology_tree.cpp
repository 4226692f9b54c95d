// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/topology_tree.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <span>

#include "core/checksum.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "core/json.hpp"

namespace sparsecoll {

namespace {

/// The most levels above the node: sparsecollTopology_t has room for these.
constexpr size_t kMostLevels = SPARSECOLL_MAX_LEVELS - 1;
constexpr size_t kMostHosts = size_t{1} << 20;

}  // namespace

/// Builds the tree from the values of a file. Errors name the line and the path of the key, such as
/// levels[0].groups[2].hosts.
class TopologyReader {
 public:
  explicit TopologyReader(TopologyTree& tree) : tree_(tree) {}

  void read(const JsonValue& file) {
    const std::string top = "the file";
    expect(file, JsonValue::Kind::object, top);
    const JsonValue* levels = nullptr;
    for (const JsonValue::Member& each : file.members) {
      if (each.key != "levels") unknown(each, top, "levels");
      levels = &each.value;
    }
    if (!levels) wrong(file.line, top, "expected the key levels");
    expect(*levels, JsonValue::Kind::array, "levels");
    if (levels->items.empty() || levels->items.size() > kMostLevels)
      wrong(levels->line, "levels",
            text("expected 1 to ", kMostLevels, " levels, got ", levels->items.size()));
    for (const JsonValue& each : levels->items)
      read_level(each, text("levels[", tree_.levels_.size(), "]"));
  }

 private:
  [[noreturn]] void wrong(size_t line, const std::string& where, const std::string& what) const {
    fail(sparsecollInvalidArgument, "SPARSECOLL_TOPOLOGY: ", tree_.name_, ", line ", line, ", ",
         where, ": ", what);
  }
  [[noreturn]] void unknown(const JsonValue::Member& member, const std::string& where,
                            const char* known) const {
    wrong(member.line, where, text("unknown key '", member.key, "', expected ", known));
  }
  void expect(const JsonValue& value, JsonValue::Kind kind, const std::string& where) const {
    if (value.kind != kind)
      wrong(value.line, where, text("expected ", name_of(kind), ", got ", name_of(value.kind)));
  }
  /// Returns the result of `parse` for a string.
  template <class Parse>
  auto parsed(const JsonValue& value, const std::string& where, Parse parse) const {
    expect(value, JsonValue::Kind::string, where);
    try {
      return parse(value.text);
    } catch (const Error& error) {
      wrong(value.line, where, error.what());
    }
  }

  void read_level(const JsonValue& value, const std::string& where) {
    expect(value, JsonValue::Kind::object, where);
    TopologyTree::Level& level = tree_.levels_.emplace_back();
    const JsonValue* groups = nullptr;
    for (const JsonValue::Member& each : value.members) {
      const std::string key = where + "." + each.key;
      if (each.key == "name")
        level.name = parsed(each.value, key, [](const std::string& name) { return name; });
      else if (each.key == "rate")
        level.link.bytes_per_second = parsed(each.value, key, parse_rate);
      else if (each.key == "latency")
        level.link.latency = parsed(each.value, key, parse_latency);
      else if (each.key == "groups")
        groups = &each.value;
      else
        unknown(each, where, "name, rate, latency or groups");
    }
    if (!groups) wrong(value.line, where, "expected the key groups");
    expect(*groups, JsonValue::Kind::array, where + ".groups");
    if (groups->items.empty()) wrong(groups->line, where + ".groups", "expected groups, got none");
    for (size_t g = 0; g < groups->items.size(); ++g)
      read_group(groups->items[g], text(where, ".groups[", g, "]"), level, g);
    sort_ranks(level, where);
  }

  void read_group(const JsonValue& value, const std::string& where, TopologyTree::Level& level,
                  uint64_t group) {
    expect(value, JsonValue::Kind::object, where);
    if (value.members.empty()) wrong(value.line, where, "expected the key hosts or ranks");
    for (const JsonValue::Member& each : value.members) {
      const std::string key = where + "." + each.key;
      if (each.key == "hosts") {
        expect(each.value, JsonValue::Kind::array, key);
        for (const JsonValue& pattern : each.value.items) add_hosts(pattern, key, level, group);
      } else if (each.key == "ranks") {
        for (const auto& [first, last] :
             parsed(each.value, key, [](const std::string& ranges) { return ranks_of(ranges); }))
          level.ranks.push_back({first, last, group, each.value.line});
      } else {
        unknown(each, where, "hosts or ranks");
      }
    }
  }

  void add_hosts(const JsonValue& pattern, const std::string& where, TopologyTree::Level& level,
                 uint64_t group) {
    const auto hosts = parsed(pattern, where, [&](const std::string& text) {
      return expand_hosts(text, kMostHosts - std::min(level.hosts.size(), kMostHosts - 1));
    });
    for (const std::string& host : hosts) {
      const auto [known, added] = level.hosts.try_emplace(host, group, pattern.line);
      if (!added)
        wrong(pattern.line, where,
              text("the host '", host, "' is in groups[", known->second.first, "], line ",
                   known->second.second, ", already"));
    }
  }

  /// Returns the ranges of a text such as "0-3,8".
  static std::vector<std::pair<int, int>> ranks_of(const std::string& ranges) {
    std::vector<std::pair<int, int>> found;
    const char* at = ranges.data();
    const char* const end = at + ranges.size();
    const auto number = [&] {
      int value = 0;
      const auto [next, error] = std::from_chars(at, end, value);
      if (error != std::errc() || value < 0)
        fail(sparsecollInvalidArgument, "expected ranks such as 0-3,8; got '", ranges, "'");
      at = next;
      return value;
    };
    for (;;) {
      const int first = number();
      int last = first;
      if (at < end && *at == '-') {
        ++at;
        last = number();
      }
      if (last < first)
        fail(sparsecollInvalidArgument, "expected ascending ranks, got '", ranges, "'");
      found.emplace_back(first, last);
      if (at == end) return found;
      if (*at++ != ',')
        fail(sparsecollInvalidArgument, "expected ranks such as 0-3,8; got '", ranges, "'");
    }
  }

  void sort_ranks(TopologyTree::Level& level, const std::string& where) const {
    std::ranges::sort(level.ranks, {}, &TopologyTree::RankRange::first);
    for (size_t i = 1; i < level.ranks.size(); ++i) {
      const auto &before = level.ranks[i - 1], &range = level.ranks[i];
      if (range.first <= before.last)
        wrong(std::max(range.line, before.line), where,
              text("rank ", range.first, " is in groups[", before.group, "], line ", before.line,
                   ", and in groups[", range.group, "], line ", range.line));
    }
  }

  TopologyTree& tree_;
};

TopologyTree TopologyTree::from_file(const std::string& file) {
  constexpr off_t kMostBytes = off_t{1} << 26;
  struct stat status {};
  if (stat(file.c_str(), &status) == 0 && (!S_ISREG(status.st_mode) || status.st_size > kMostBytes))
    fail(sparsecollInvalidArgument, "SPARSECOLL_TOPOLOGY: expected a regular file of at most ",
         kMostBytes, " bytes, got '", file, "', ", kind_of_file(status.st_mode), " of ",
         status.st_size);
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (!stream.is_open() || stream.bad())
    fail(sparsecollInvalidArgument, "SPARSECOLL_TOPOLOGY: cannot read '", file,
         "': ", std::strerror(errno));
  return from_text(text, file);
}

TopologyTree TopologyTree::from_text(const std::string& text, const std::string& name) {
  TopologyTree tree;
  tree.name_ = name;
  try {
    const JsonValue file = parse_json(text);
    TopologyReader(tree).read(file);
  } catch (const Error& error) {
    const std::string why = error.what();
    if (why.rfind("SPARSECOLL_TOPOLOGY", 0) == 0) throw;
    fail(error.code(), "SPARSECOLL_TOPOLOGY: ", name, ", ", why);
  }
  const uint64_t sum = checksum(std::as_bytes(std::span(text.data(), text.size())));
  tree.identity_ = (sum >> 1) | 1;
  return tree;
}

std::vector<uint64_t> TopologyTree::path_of(int rank, const std::string& host) const {
  std::vector<uint64_t> path;
  const std::string short_name = host.substr(0, host.find('.'));
  for (const Level& level : levels_) {
    auto by_host = level.hosts.find(host);
    if (by_host == level.hosts.end()) by_host = level.hosts.find(short_name);
    const auto by_rank =
        std::ranges::lower_bound(level.ranks, rank, {}, &RankRange::last);  // the only candidate
    const bool has_host = by_host != level.hosts.end();
    const bool has_rank = by_rank != level.ranks.end() && by_rank->first <= rank;
    const auto wrong = [&](const std::string& what) {
      fail(sparsecollInvalidArgument, "SPARSECOLL_TOPOLOGY: ", name_, ", levels[", path.size(), "]",
           level.name.empty() ? "" : " (" + level.name + ")", ": ", what);
    };
    if (!has_host && !has_rank)
      wrong(text("no group has rank ", rank, " or its host '", host, "'"));
    if (has_host && has_rank && by_host->second.first != by_rank->group)
      wrong(text("the host '", host, "' is in groups[", by_host->second.first, "], line ",
                 by_host->second.second, ", and its rank ", rank, " in groups[", by_rank->group,
                 "], line ", by_rank->line));
    path.push_back(has_host ? by_host->second.first : by_rank->group);
  }
  return path;
}

std::vector<GroupLink> TopologyTree::links() const {
  std::vector<GroupLink> links;
  for (const Level& level : levels_) links.push_back(level.link);
  return links;
}

std::vector<TopologyTree::Summary> TopologyTree::summary() const {
  std::vector<Summary> all;
  for (const Level& level : levels_) {
    std::set<uint64_t> groups;
    for (const auto& [host, place] : level.hosts) groups.insert(place.first);
    for (const RankRange& range : level.ranks) groups.insert(range.group);
    all.push_back({level.name, groups.size(), level.link});
  }
  return all;
}

}  // namespace sparsecoll
