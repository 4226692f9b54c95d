// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of the topology, of the measurement of messages within and between nodes, and of the choice
// of Auto that follows.

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "api/rank_path.hpp"
#include "calls/channel_ranks.hpp"
#include "collectives/network/topology.hpp"
#include "collectives/registry.hpp"
#include "core/error.hpp"
#include "core/machine.hpp"
#include "support/catch.hpp"

namespace sparsecoll::unit {
namespace {

std::vector<int> ranks_of(const Topology& topology, int node) {
  const std::span<const int> ranks = topology.ranks_of(node);
  return {ranks.begin(), ranks.end()};
}

TEST_CASE("nodes are ordered by their lowest ranks, not by their numbers") {
  const uint64_t numbers[] = {70, 7, 70, ~uint64_t{0}, 7, 70};
  const Topology topology(numbers);
  REQUIRE(topology.nodes() == 3);
  CHECK(ranks_of(topology, 0) == std::vector<int>{0, 2, 5});
  CHECK(ranks_of(topology, 1) == std::vector<int>{1, 4});
  CHECK(ranks_of(topology, 2) == std::vector<int>{3});
  for (int node = 0; node < 3; ++node) {
    CHECK(topology.leader(node) == ranks_of(topology, node).front());
    for (const int rank : ranks_of(topology, node)) CHECK(topology.node_of(rank) == node);
  }
  CHECK(topology.largest_node_size() == 3);
  CHECK(Topology({numbers, 1}).largest_node_size() == 1);
}

/// Runs body() in a process of its own, which may change its namespaces. Returns what body()
/// returns, or -1 if this process may not have the namespace.
template <class Body>
int in_namespace(int flag, Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(unshare(flag) != 0 ? 255 : body());
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status) == 255 ? -1 : WEXITSTATUS(status);
}

TEST_CASE("the numbers of this machine and node do not depend on the host's name") {
  const uint64_t machine = machine_number(), node = node_number();
  CHECK(machine_number() == machine);
  CHECK(node_number() == node);
  const int differ = in_namespace(CLONE_NEWUTS, [&] {
    if (sethostname("elsewhere", 9) != 0 || host_name() != "elsewhere") return 2;
    return machine_number() == machine && node_number() == node ? 0 : 1;
  });
  CHECK(differ <= 0);
}

TEST_CASE("a process with a network of its own is a node of its own on the same machine") {
  const uint64_t machine = machine_number(), node = node_number();
  const int wrong = in_namespace(
      CLONE_NEWNET, [&] { return machine_number() == machine && node_number() != node ? 0 : 1; });
  CHECK(wrong <= 0);
}

/// Returns a path on these levels above the node.
RankPath path(TopologySource source, uint64_t node, std::initializer_list<uint64_t> groups) {
  RankPath made{node, source, groups.size()};
  std::ranges::copy(groups, made.groups.begin());
  return made;
}

TEST_CASE("groups are numbered by their lowest ranks on every level") {
  constexpr auto kFile = TopologySource::file;
  const RankPath paths[] = {path(kFile, 9, {5, 1}), path(kFile, 8, {4, 1}), path(kFile, 9, {5, 1}),
                            path(kFile, 7, {3, 0}), path(kFile, 6, {4, 1})};
  const Topology topology(paths);
  REQUIRE(topology.levels() == 3);
  CHECK(topology.source() == kFile);
  const int nodes[] = {0, 1, 0, 2, 3}, racks[] = {0, 1, 0, 2, 1}, sites[] = {0, 0, 0, 1, 0};
  for (int rank = 0; rank < 5; ++rank) {
    CHECK(topology.group_of(0, rank) == nodes[rank]);
    CHECK(topology.group_of(1, rank) == racks[rank]);
    CHECK(topology.group_of(2, rank) == sites[rank]);
  }
  CHECK(topology.groups(0) == 4);
  CHECK(topology.groups(1) == 3);
  CHECK(topology.groups(2) == 2);
  // The leaders are ranks 0, 1, 3 and 4.
  const Topology leaders = topology.of_leaders();
  REQUIRE(leaders.levels() == 2);
  CHECK(leaders.ranks() == 4);
  const int leader_racks[] = {0, 1, 2, 1}, leader_sites[] = {0, 0, 1, 0};
  for (int leader = 0; leader < 4; ++leader) {
    CHECK(leaders.group_of(0, leader) == leader_racks[leader]);
    CHECK(leaders.group_of(1, leader) == leader_sites[leader]);
  }
}

TEST_CASE("levels that divide nothing are left out between leaders") {
  constexpr auto kFile = TopologySource::file;
  const RankPath alone[] = {path(kFile, 0, {0, 7}), path(kFile, 1, {1, 7}), path(kFile, 1, {1, 7})};
  const Topology topology(alone);
  CHECK(topology.levels() == 3);
  CHECK(topology.of_leaders().levels() == 0);
}

TEST_CASE("a group that divides a node or a lower group is refused") {
  constexpr auto kFile = TopologySource::file;
  const auto refusal = [](std::span<const RankPath> paths) {
    try {
      const Topology topology(paths);
      return std::string("accepted");
    } catch (const Error& error) {
      CHECK(error.code() == sparsecollInvalidArgument);
      return std::string(error.what());
    }
  };
  const RankPath node[] = {path(kFile, 1, {0}), path(kFile, 2, {0}), path(kFile, 1, {1})};
  CHECK(refusal(node) ==
        "SPARSECOLL_TOPOLOGY: levels[0] divides a node: ranks 0 and 2 are in one, but in different "
        "groups");
  const RankPath rack[] = {path(kFile, 1, {0, 0}), path(kFile, 2, {0, 1})};
  CHECK(refusal(rack) ==
        "SPARSECOLL_TOPOLOGY: levels[1] divides a group of levels[0]: ranks 0 and 1 are in one, "
        "but in different groups");
}

TEST_CASE("Slurm's addresses are used if they tell the nodes apart") {
  const auto at = [](const char* address, uint64_t node) {
    RankPath made{node};
    add_slurm_path(address, "switch.switch.node", made);
    return made;
  };
  const RankPath racks[] = {at("s0.s1.a", 1), at("s0.s1.b", 2), at("s0.s2.c", 3), at("s0.s1.a", 1)};
  const Topology topology(racks);
  CHECK(topology.source() == TopologySource::slurm);
  REQUIRE(topology.levels() == 3);
  CHECK(topology.groups(1) == 2);
  CHECK(topology.group_of(1, 1) == 0);
  CHECK(topology.group_of(1, 2) == 1);
  CHECK(topology.groups(2) == 1);
  // The launcher passed on one node's address, a node has two, or one has none.
  const RankPath same[] = {at("s0.s1.a", 1), at("s0.s1.a", 2)};
  const RankPath two[] = {at("s0.s1.a", 1), at("s0.s1.b", 1)};
  const RankPath none[] = {at("s0.s1.a", 1), at("", 2)};
  for (const std::span<const RankPath> paths : {std::span(same), std::span(two), std::span(none)}) {
    const Topology nodes_only(paths);
    CHECK(nodes_only.levels() == 1);
    CHECK(nodes_only.source() == TopologySource::machine);
  }
}

TEST_CASE("nodes may be at different depths of Slurm's tree") {
  RankPath deep{1}, flat{2};
  add_slurm_path("s0.s1.a", "switch.switch.node", deep);
  add_slurm_path("s0.b", "switch.node", flat);
  const RankPath paths[] = {deep, flat};
  const Topology topology(paths);
  REQUIRE(topology.levels() == 3);
  CHECK(topology.groups(1) == 2);
  CHECK(topology.groups(2) == 1);
  RankPath unfit{3};
  add_slurm_path("s0.b", "switch.switch.node", unfit);
  CHECK(unfit.source == TopologySource::machine);
}

TEST_CASE("the ranks exchange the numbers of their nodes") {
  for (const int P : {1, 2, 5, 8}) {
    ChannelRanks ranks(P);
    CHECK(ranks.run([&](ChannelRank& self) -> std::string {
      std::string wrong;
      self.collective([&](Env& env) {
        const RankPath own{1000 + static_cast<uint64_t>(self.rank()) % 3};
        const Topology topology(gather_paths(env.call, env.arena, own));
        for (int rank = 0; rank < P; ++rank)
          if (topology.node_of(rank) != rank % 3)
            wrong = text("rank ", rank, " is on another node");
      });
      return wrong;
    }) == "");
  }
}

/// Measures the network on all ranks. Messages between nodes are delayed by 20 ms.
std::string measure(const Topology& topology, int P, std::vector<NodeNetwork>& measured) {
  measured.assign(static_cast<size_t>(P), {});
  const auto late_between = [&topology](int sender, int receiver, size_t) {
    MessageFault fault;
    if (topology.node_of(sender) != topology.node_of(receiver))
      fault.delay = std::chrono::milliseconds(20);
    return fault;
  };
  ChannelRanks ranks(P, 30000, late_between);
  return ranks.run([&](ChannelRank& self) {
    self.collective([&](Env& env) {
      measured[static_cast<size_t>(self.rank())] = measure_node_network(env, topology).value();
    });
    return "";
  });
}

TEST_CASE(
    "messages within nodes and between nodes are measured separately, with the same result on all "
    "ranks") {
  const uint64_t numbers[] = {1, 2, 1, 2, 3, 3, 3};
  for (const int P : {2, 4, 7}) {
    const Topology topology({numbers, static_cast<size_t>(P)});
    std::vector<NodeNetwork> measured;
    REQUIRE(measure(topology, P, measured) == "");
    CAPTURE(P);
    for (const NodeNetwork& each : measured) {
      CHECK(each.count == topology.nodes());
      CHECK(each.largest == topology.largest_node_size());
      CHECK(each.leaders.alpha >= 0.02);
      if (topology.largest_node_size() > 1) CHECK(each.within.alpha < 0.02);
      CHECK(each.within.alpha == measured[0].within.alpha);
      CHECK(each.within.beta == measured[0].within.beta);
      CHECK(each.leaders.alpha == measured[0].leaders.alpha);
      CHECK(each.leaders.beta == measured[0].leaders.beta);
    }
  }
}

constexpr Network kShared{60e-6, 8 * 8.5e-9, kGammaOnHost};
/// Eight nodes with eight ranks each. Each node has a link of 1 Gbit/s.
constexpr NodeNetwork kEightByEight{
    8, 8, {1e-6, 1e-10, kGammaOnHost}, {55e-6, 8.5e-9, kGammaOnHost}};

TEST_CASE("without a topology Hierarchical has infinite cost, and Auto does not choose it") {
  const ProblemSize size{64, 1 << 24, 100000, 4, 0};
  CHECK(std::isinf(predicted_seconds(AlgorithmId::hierarchical, size, kShared)));
  CHECK(choose_algorithm(size, kShared).id == AlgorithmId::oktopk);
}

TEST_CASE("Auto chooses Hierarchical if ranks share slow links") {
  std::set<AlgorithmId> taken;
  double before = 0;
  for (size_t k = 1; k <= 1 << 24; k *= 4) {
    const ProblemSize size{64, 1 << 24, k, 4, 0, 0, &kEightByEight};
    const double now = predicted_seconds(AlgorithmId::hierarchical, size, kShared);
    CHECK(now > before);
    before = now;
    const AlgorithmId id = choose_algorithm(size, kShared).id;
    for (const AlgorithmId other :
         {AlgorithmId::allgather, AlgorithmId::oktopk, AlgorithmId::hierarchical})
      CHECK(predicted_seconds(id, size, kShared) <= predicted_seconds(other, size, kShared));
    taken.insert(id);
  }
  CHECK(taken.contains(AlgorithmId::hierarchical));
  CHECK(choose_algorithm({64, 1 << 24, 100000, 4, 0, 0, &kEightByEight}, kShared).id ==
        AlgorithmId::hierarchical);
  // A hierarchical call does not show how many entries the ranks had.
  CHECK(choose_algorithm({64, 1 << 24, kAll, 4, 6400000, 0, &kEightByEight}, kShared).id ==
        AlgorithmId::oktopk);
  // With one rank on each node, Oktopk is equal but has no steps within nodes.
  const Network slow{60e-6, 8.5e-9, kGammaOnHost};
  const NodeNetwork alone{64, 1, {1e-6, 1e-10, kGammaOnHost}, slow};
  CHECK(choose_algorithm({64, 1 << 24, 100000, 4, 0, 0, &alone}, slow).id == AlgorithmId::oktopk);
}

TEST_CASE("Auto chooses Hierarchical if nodes share thin links of racks") {
  // Eight nodes of one rank with 1 Gbit/s in two racks with 100 Mbit/s: all of a rack's nodes send
  // through its link, which is what they measure.
  const Network measured{60e-6, 4 * 80e-9, kGammaOnHost};
  const NodeNetwork nodes{8, 1, {}, measured};
  const GroupLinks racks[] = {{2, 4, 80e-9, 50e-6}};
  ProblemSize size{8, 1 << 24, 100000, 4, 0, 0, &nodes};
  CHECK(choose_algorithm(size, measured).id == AlgorithmId::oktopk);
  const double flat = predicted_seconds(AlgorithmId::hierarchical, size, measured);
  size.levels = racks;
  CHECK(choose_algorithm(size, measured).id == AlgorithmId::hierarchical);
  CHECK(predicted_seconds(AlgorithmId::hierarchical, size, measured) < flat);
}

TEST_CASE("ranks that a message covers count as covered") {
  ChannelRanks ranks(3);
  CHECK(ranks.run([](ChannelRank& self) -> std::string {
    std::string wrong;
    self.call(call_with_k(1), [&](FramedCall& call) {
      // Rank 1 receives from 0 and covers it in its message to 2, which answers. The answer of 2
      // covers 2 and reaches 0 through 1.
      if (self.rank() == 0) self.exchange(call, 1, "", 1);
      if (self.rank() == 1) {
        self.exchange(call, ChannelRank::kNoPeer, "", 0);
        self.exchange(call, 2, "", 2);
        self.exchange(call, 0, "", ChannelRank::kNoPeer);
      }
      if (self.rank() == 2) self.exchange(call, 1, "", 1);
      call.confirm();
      const int all[] = {0, 1, 2};
      call.mark_covered(all);  // covered again: no effect
      call.confirm();
    });
    self.call(call_with_k(1), [&](FramedCall& call) {
      const int others[] = {(self.rank() + 1) % 3, (self.rank() + 2) % 3};
      wrong = expect_error(sparsecollInternalError, "only 1 of 3", [&] { call.confirm(); });
      call.mark_covered({others, 1});
      if (wrong.empty())
        wrong = expect_error(sparsecollInternalError, "only 2 of 3", [&] { call.confirm(); });
      call.mark_covered({others, 2});
      call.confirm();
    });
    return wrong;
  }) == "");
}

}  // namespace
}  // namespace sparsecoll::unit
