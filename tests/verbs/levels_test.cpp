// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests Hierarchical on topologies of several levels, of any size and with groups of ranks in any
// order, against the definition; and sparsecollCommGetTopology. A program of its own, because the
// environment belongs to the process.

#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/folder.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"
#include "support/variable.hpp"

namespace sparsecoll::test {
namespace {

using GroupOf = std::function<int(int rank)>;

/// The levels of a communicator: nodes of consecutive ranks, and the groups above them.
struct Shape {
  const char* name;
  int ranks_per_node;
  std::vector<GroupOf> above;
};

/// Groups of 1, 2, 3, ... consecutive members.
int growing(int member) {
  int group = 0;
  for (int end = 1; member >= end; end += group + 1) ++group;
  return group;
}

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all{
      {"racks of 1, 2, 3, ... ranks", 1, {growing}},
      {"nodes of 2, dealt to two racks", 2, {[](int rank) { return rank / 2 % 2; }}},
      {"nodes of 3, the first alone in its rack", 3, {[](int rank) { return rank < 3 ? 1 : 0; }}},
      {"racks of 2 on sites of 1, 2, 3, ... racks",
       1,
       {[](int rank) { return rank / 2; }, [](int rank) { return growing(rank / 2); }}},
      {"three levels above nodes of 2",
       2,
       {[](int rank) { return rank / 4; }, [](int rank) { return rank / 8; },
        [](int) { return 0; }}}};
  return all;
}

/// Writes the groups of P ranks as SPARSECOLL_TOPOLOGY expects them.
std::string write_levels(const Folder& folder, const std::vector<GroupOf>& levels, int P) {
  const std::string name = folder.file("levels.json");
  std::ofstream file(name);
  file << "{\"levels\": [";
  for (std::size_t level = 0; level < levels.size(); ++level) {
    std::map<int, std::string> ranks;
    for (int rank = 0; rank < P; ++rank) {
      std::string& list = ranks[levels[level](rank)];
      list += (list.empty() ? "" : ",") + std::to_string(rank);
    }
    file << (level == 0 ? "{" : ", {") << "\"groups\": [";
    bool first = true;
    for (const auto& [group, list] : ranks) {
      file << (first ? "" : ", ") << "{\"ranks\": \"" << list << "\"}";
      first = false;
    }
    file << "]}";
  }
  file << "]}\n";
  return name;
}

oracle::Levels levels_above(const Shape& shape, int P) {
  oracle::Levels levels;
  for (const GroupOf& group : shape.above) {
    levels.emplace_back();
    for (int rank = 0; rank < P; ++rank) levels.back().push_back(group(rank));
  }
  return levels;
}

constexpr std::uint64_t kThinning = 9;

TEST_CASE("sums are by level") {
  const std::uint64_t thinning = kThinning * (small_run() ? 4 : 1);
  for (const Shape& shape : shapes()) {
    const Variable nodes("SPARSECOLL_RANKS_PER_NODE", std::to_string(shape.ranks_per_node));
    for (const int P : rank_counts()) {
      const Folder folder;
      const Variable file("SPARSECOLL_TOPOLOGY", write_levels(folder, shape.above, P));
      const oracle::Levels above = levels_above(shape, P);
      Mode mode = kHierarchical;
      mode.groups = &above;
      INFO(shape.name << ", P = " << P);
      const Ranks ranks(P, config_of(mode));
      for (const Case& c : cases_of(mode, P, thinning)) CHECK(run_case(ranks, c) == "");
      for (const SparseCase& c : sparse_cases_of(mode, P, thinning))
        CHECK(run_case(ranks, c) == "");
    }
  }
}

TEST_CASE("feedback over many calls, with regions that move") {
  const Shape& shape = shapes()[3];
  for (const int P : {4, 7}) {
    const Folder folder;
    const Variable nodes("SPARSECOLL_RANKS_PER_NODE", "1");
    const Variable file("SPARSECOLL_TOPOLOGY", write_levels(folder, shape.above, P));
    const oracle::Levels above = levels_above(shape, P);
    Mode mode = kHierarchical;
    mode.groups = &above;
    sparsecollConfig_t config = config_of(mode);
    config.repartitionInterval = 2;
    const Ranks ranks(P, config);
    for (const Kind kind : {Kind::kHeavyTail, Kind::kOneRegion, Kind::kHotBlock}) {
      const Case c{base_seed(),
                   mode,
                   1000,
                   25,
                   kind,
                   oracle::Op::kAvg,
                   sparsecollFloat32,
                   true,
                   false,
                   small_run() ? 6 : 50};
      CHECK(run_case(ranks, c) == "");
    }
  }
}

sparsecollTopology_t topology_of(sparsecollComm_t comm) {
  sparsecollTopology_t topology = SPARSECOLL_TOPOLOGY_INITIALIZER;
  REQUIRE(sparsecollCommGetTopology(comm, &topology) == sparsecollSuccess);
  return topology;
}

TEST_CASE("sparsecollCommGetTopology returns the levels of the file") {
  const Folder folder;
  const Shape& shape = shapes()[1];
  const Variable nodes("SPARSECOLL_RANKS_PER_NODE", "2");
  const Variable file("SPARSECOLL_TOPOLOGY", write_levels(folder, shape.above, 7));
  const Ranks ranks(7, default_config());
  for (int rank = 0; rank < 7; ++rank) {
    const sparsecollTopology_t topology = topology_of(ranks.comm(rank));
    CHECK(std::string(topology.source) == "file");
    REQUIRE(topology.levels == 2);
    CHECK(topology.group[0] == rank / 2);
    CHECK(topology.groups[0] == 4);
    CHECK(topology.ranks[0] == (rank == 6 ? 1 : 2));
    CHECK(topology.group[1] == rank / 2 % 2);
    CHECK(topology.groups[1] == 2);
    CHECK(topology.ranks[1] == (rank / 2 % 2 == 0 ? 4 : 3));
    CHECK(topology.group[2] == 0);
    CHECK(topology.groups[2] == 0);
    CHECK(topology.threads >= 1);
  }
}

TEST_CASE("the children of a split keep their ranks' places") {
  const Folder folder;
  const Variable nodes("SPARSECOLL_RANKS_PER_NODE", "1");
  const Variable file("SPARSECOLL_TOPOLOGY",
                      write_levels(folder, {[](int rank) { return rank / 2; }}, 6));
  const Ranks ranks(6, default_config());
  const std::string verdict = ranks.run("split", [&](int rank) -> std::string {
    sparsecollComm_t part = nullptr;
    // Ranks 5, 3, 2, 0 in this order.
    const int color = rank % 3 == 1 ? SPARSECOLL_SPLIT_NOCOLOR : 0;
    if (sparsecollCommSplit(ranks.comm(rank), color, -rank, &part, nullptr) != sparsecollSuccess)
      return "split failed";
    if (!part) return "";
    sparsecollTopology_t topology = SPARSECOLL_TOPOLOGY_INITIALIZER;
    if (sparsecollCommGetTopology(part, &topology) != sparsecollSuccess) return "no topology";
    const std::map<int, int> racks{{5, 0}, {3, 1}, {2, 1}, {0, 2}};
    const bool good = topology.levels == 2 && topology.groups[1] == 3 &&
                      topology.group[1] == racks.at(rank) &&
                      topology.ranks[1] == (rank == 3 || rank == 2 ? 2 : 1);
    sparsecollCommDestroy(part);
    return good ? "" : "another place";
  });
  CHECK(verdict == "");
}

TEST_CASE("Slurm says where the node is if no file does") {
  const Variable address("SLURM_TOPOLOGY_ADDR", "top.leaf.node7");
  const Variable pattern("SLURM_TOPOLOGY_ADDR_PATTERN", "switch.switch.node");
  const Variable nodes("SPARSECOLL_RANKS_PER_NODE", "100");
  const Ranks ranks(2, default_config());
  const sparsecollTopology_t topology = topology_of(ranks.comm(1));
  CHECK(std::string(topology.source) == "slurm");
  REQUIRE(topology.levels == 3);
  for (int level = 0; level < 3; ++level) {
    CHECK(topology.group[level] == 0);
    CHECK(topology.groups[level] == 1);
    CHECK(topology.ranks[level] == 2);
  }
}

TEST_CASE("without a file there are nodes only") {
  const Ranks ranks(3, default_config());
  const sparsecollTopology_t topology = topology_of(ranks.comm(2));
  CHECK(std::string(topology.source) == "hwloc");
  CHECK(topology.levels == 1);
}

TEST_CASE("bad structures are refused, and only `size` bytes are written") {
  const Ranks ranks(1, default_config());
  const sparsecollComm_t comm = ranks.comm(0);
  CHECK(sparsecollCommGetTopology(comm, nullptr) == sparsecollInvalidArgument);
  CHECK(std::string(sparsecollGetLastError(comm)).find("topology") != std::string::npos);
  sparsecollTopology_t zeros = {};
  CHECK(sparsecollCommGetTopology(comm, &zeros) == sparsecollInvalidArgument);
  CHECK(sparsecollCommGetTopology(nullptr, &zeros) == sparsecollInvalidArgument);
  sparsecollTopology_t shorter = SPARSECOLL_TOPOLOGY_INITIALIZER;
  shorter.size = offsetof(sparsecollTopology_t, numaNode);
  shorter.numaNode = shorter.cores = shorter.threads = -7;
  CHECK(sparsecollCommGetTopology(comm, &shorter) == sparsecollSuccess);
  CHECK(shorter.levels == 1);
  CHECK(shorter.threads == -7);
}

std::string refusal(int P) {
  std::vector<sparsecollComm_t> comms(static_cast<std::size_t>(P));
  const sparsecollResult_t result = sparsecollCommInitAll(comms.data(), P, nullptr, nullptr);
  CHECK(result == sparsecollInvalidArgument);
  if (result == sparsecollSuccess)
    for (const sparsecollComm_t comm : comms) sparsecollCommDestroy(comm);
  return sparsecollGetLastError(nullptr);
}

TEST_CASE("bad files make the init fail") {
  const Folder folder;
  const Variable nodes("SPARSECOLL_RANKS_PER_NODE", "2");
  {
    const Variable file("SPARSECOLL_TOPOLOGY", folder.file("none.json"));
    CHECK(refusal(2).find("none.json': No such file") != std::string::npos);
  }
  const Variable file("SPARSECOLL_TOPOLOGY",
                      write_levels(folder, {[](int rank) { return rank; }}, 4));
  CHECK(refusal(4).find("levels[0] divides a node: ranks 0 and 1") != std::string::npos);
  CHECK(refusal(5).find("no group has rank 4") != std::string::npos);
}

}  // namespace
}  // namespace sparsecoll::test
