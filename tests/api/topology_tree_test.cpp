// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of the files of SPARSECOLL_TOPOLOGY: what they say, and every way to be wrong.

#include "api/topology_tree.hpp"

#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "support/catch.hpp"

namespace sparsecoll::unit {
namespace {

using Numbers = std::vector<uint64_t>;

TopologyTree tree_of(const std::string& text) { return TopologyTree::from_text(text, "t.json"); }

template <class Body>
std::string refusal(Body body) {
  try {
    body();
    return "accepted";
  } catch (const Error& error) {
    CHECK(error.code() == sparsecollInvalidArgument);
    return error.what();
  }
}

std::string refusal_of(const std::string& text) {
  return refusal([&] { tree_of(text); });
}

const char* const kTree = R"({"levels": [
  {"name": "rack", "rate": "100Mbit/s", "latency": "50us",
   "groups": [{"hosts": ["node[0-3]"]}, {"ranks": "4-6,9"}, {"hosts": ["login"], "ranks": "7"}]},
  {"groups": [{"hosts": ["node[0-3]", "login"], "ranks": "7"}, {"ranks": "4-6,9"}]}
]})";

TEST_CASE("hosts and ranks have a group on each level") {
  const TopologyTree tree = tree_of(kTree);
  CHECK(tree.levels() == 2);
  CHECK(tree.path_of(0, "node2") == Numbers{0, 0});
  CHECK(tree.path_of(3, "node0.cluster.example") == Numbers{0, 0});
  CHECK(tree.path_of(4, "x") == Numbers{1, 1});
  CHECK(tree.path_of(6, "x") == Numbers{1, 1});
  CHECK(tree.path_of(9, "x") == Numbers{1, 1});
  CHECK(tree.path_of(7, "login") == Numbers{2, 0});
  CHECK(tree.path_of(100, "login") == Numbers{2, 0});
  const std::vector<GroupLink> links = tree.links();
  REQUIRE(links.size() == 2);
  CHECK(links[0].bytes_per_second == 100e6 / 8);
  REQUIRE(links[0].latency);
  CHECK(std::abs(*links[0].latency - 50e-6) < 1e-15);
  CHECK(!links[1].bytes_per_second);
  CHECK(!links[1].latency);
}

TEST_CASE("a rank without a group, or with two, is an error that names both") {
  const TopologyTree tree = tree_of(kTree);
  CHECK(refusal([&] { tree.path_of(8, "node4"); }) ==
        "SPARSECOLL_TOPOLOGY: t.json, levels[0] (rack): no group has rank 8 or its host 'node4'");
  CHECK(refusal([&] { tree.path_of(5, "node1"); }) ==
        "SPARSECOLL_TOPOLOGY: t.json, levels[0] (rack): the host 'node1' is in groups[0], line 3, "
        "and its rank 5 in groups[1], line 3");
}

TEST_CASE("trees with the same text have the same identity") {
  CHECK(tree_of(kTree).identity() == tree_of(kTree).identity());
  std::string changed = kTree;
  changed.push_back('\n');
  CHECK(tree_of(kTree).identity() != tree_of(changed).identity());
  CHECK(static_cast<int64_t>(tree_of(kTree).identity()) > 0);
}

TEST_CASE("patterns of hosts") {
  using Hosts = std::vector<std::string>;
  CHECK(expand_hosts("node", 10) == Hosts{"node"});
  CHECK(expand_hosts("n[1-3,7]", 10) == Hosts{"n1", "n2", "n3", "n7"});
  CHECK(expand_hosts("n[08-11]x", 10) == Hosts{"n08x", "n09x", "n10x", "n11x"});
  CHECK(expand_hosts("r[1-2]n[0-1]", 10) == Hosts{"r1n0", "r1n1", "r2n0", "r2n1"});
  for (const char* bad :
       {"", "n[", "n]", "n[]", "n[a]", "n[1-]", "n[-1]", "n[3-1]", "n[1,]", "n[0-10]",
        "n[0-18446744073709551615]", "n[99999999999999999999]", "a b", "n[0-3]m[0-3]"}) {
    INFO(bad);
    CHECK(refusal([&] { expand_hosts(bad, 10); }) != "accepted");
  }
}

TEST_CASE("rates and latencies") {
  CHECK(parse_rate("8bit/s") == 1);
  CHECK(parse_rate("1.5Gbit/s") == 1.5e9 / 8);
  CHECK(parse_rate("25kbit/s") == 25e3 / 8);
  CHECK(parse_latency("0us") == 0);
  CHECK(parse_latency("2.5ms") == 2.5e-3);
  for (const char* bad : {"", "0Gbit/s", "-1Gbit/s", "1", "Gbit/s", "1 Gbit/s", "1gbit", "1GB/s",
                          "nanGbit/s", "infGbit/s", "1e999Gbit/s"}) {
    INFO(bad);
    CHECK(refusal([&] { parse_rate(bad); }) != "accepted");
  }
  for (const char* bad : {"", "1", "-1us", "us", "1 us", "1min"}) {
    INFO(bad);
    CHECK(refusal([&] { parse_latency(bad); }) != "accepted");
  }
}

TEST_CASE("errors name file, line and key") {
  struct Bad {
    const char* text;
    const char* error;
  };
  const Bad all[] = {
      {"[]", "line 1, the file: expected an object, got an array"},
      {"{}", "line 1, the file: expected the key levels"},
      {"{\n\"level\": []}", "line 2, the file: unknown key 'level', expected levels"},
      {"{\"levels\":\n[]}", "line 2, levels: expected 1 to 7 levels, got 0"},
      {"{\"levels\": [{},{},{},{},{},{},{},{}]}", "line 1, levels: expected 1 to 7 levels, got 8"},
      {"{\"levels\": [3]}", "line 1, levels[0]: expected an object, got a number"},
      {"{\"levels\": [{\n\"name\": \"rack\"}]}", "line 1, levels[0]: expected the key groups"},
      {"{\"levels\": [{\"groups\": []}]}", "line 1, levels[0].groups: expected groups, got none"},
      {"{\"levels\": [{\"groups\": [{}]}]}",
       "line 1, levels[0].groups[0]: expected the key hosts or ranks"},
      {"{\"levels\": [{\"groups\": [{\"ranks\": \"0\"}],\n\"rate\": \"0Gbit/s\"}]}",
       "line 2, levels[0].rate: expected a rate above 0 in bit/s, kbit/s, Mbit/s, Gbit/s or "
       "Tbit/s, got '0Gbit/s'"},
      {"{\"levels\": [{\"groups\": [{\"ranks\": \"0\"}], \"rate\": 5}]}",
       "line 1, levels[0].rate: expected a string, got a number"},
      {"{\"levels\": [{\"groups\": [{\"ranks\": \"0\"}],\n\"speed\": 5}]}",
       "line 2, levels[0]: unknown key 'speed', expected name, rate, latency or groups"},
      {"{\"levels\": [{\"groups\": [{\"host\": []}]}]}",
       "line 1, levels[0].groups[0]: unknown key 'host', expected hosts or ranks"},
      {"{\"levels\": [{\"groups\": [\n{\"hosts\": [\"a\"]},\n{\"hosts\": [\"a\"]}]}]}",
       "line 3, levels[0].groups[1].hosts: the host 'a' is in groups[0], line 2, already"},
      {"{\"levels\": [{\"groups\": [\n{\"ranks\": \"0-4\"},\n{\"ranks\": \"7,4\"}]}]}",
       "line 3, levels[0]: rank 4 is in groups[0], line 2, and in groups[1], line 3"},
      {"{\"levels\": [{\"groups\": [{\"ranks\": \"3-1\"}]}]}",
       "line 1, levels[0].groups[0].ranks: expected ascending ranks, got '3-1'"},
      {"{\"levels\": [{\"groups\": [{\"ranks\": \"-1\"}]}]}",
       "line 1, levels[0].groups[0].ranks: expected ranks such as 0-3,8; got '-1'"},
      {"{\"levels\": [{\"groups\": [{\"ranks\": \"1;2\"}]}]}",
       "line 1, levels[0].groups[0].ranks: expected ranks such as 0-3,8; got '1;2'"},
      {"{\"levels\": [",
       "line 1: syntax error while parsing value - unexpected end of input; expected '[', '{', or "
       "a literal"}};
  for (const Bad& bad : all)
    CHECK(refusal_of(bad.text) == std::string("SPARSECOLL_TOPOLOGY: t.json, ") + bad.error);
  CHECK(refusal([] { TopologyTree::from_file("/dev/null"); }).find("regular file") !=
        std::string::npos);
  CHECK(refusal([] { TopologyTree::from_file("no such file"); }) ==
        "SPARSECOLL_TOPOLOGY: cannot read 'no such file': No such file or directory");
}

TEST_CASE("a file of 10^5 lines takes no long time") {
  std::string text = "{\"levels\": [{\"groups\": [\n";
  for (int i = 0; i < 100000; ++i)
    text += (i == 0 ? "" : ",\n") + std::string("{\"hosts\": [\"node") + std::to_string(i) + "\"]}";
  text += "]}]}";
  const auto start = std::chrono::steady_clock::now();
  const TopologyTree tree = tree_of(text);
  CHECK(tree.path_of(0, "node99999") == Numbers{99999});
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  CHECK(spent.count() < 30);  // a quadratic search would take minutes
  const size_t last = text.rfind("node99999");
  text.replace(last, 9, "node0");
  CHECK(refusal_of(text) ==
        "SPARSECOLL_TOPOLOGY: t.json, line 100001, levels[0].groups[99999].hosts: the host 'node0' "
        "is in groups[0], line 2, already");
}

}  // namespace
}  // namespace sparsecoll::unit
