// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Which ranks share a node, what messages within and between nodes cost, and what Auto makes of it.

#include <cmath>
#include <set>

#include "calls/station.hpp"
#include "collectives/registry.hpp"
#include "collectives/topology.hpp"
#include "core/machine.hpp"
#include "support/catch.hpp"

namespace sparsecoll::unit {
namespace {

std::vector<int> ranks_of(const Topology& topology, int node) {
  const std::span<const int> ranks = topology.ranks_of(node);
  return {ranks.begin(), ranks.end()};
}

TEST_CASE("nodes are numbered by their lowest ranks, whatever their numbers are") {
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
  CHECK(topology.largest() == 3);
  CHECK(Topology({numbers, 1}).largest() == 1);
}

TEST_CASE("this machine has one number") { CHECK(machine_number() == machine_number()); }

TEST_CASE("the ranks learn from each other where they are") {
  for (const int P : {1, 2, 5, 8}) {
    Stations stations(P);
    CHECK(stations.run([&](Station& station) -> std::string {
      std::string wrong;
      station.collective([&](Env& env) {
        const Topology topology =
            learn_topology(env, 1000 + static_cast<uint64_t>(station.rank()) % 3);
        for (int rank = 0; rank < P; ++rank)
          if (topology.node_of(rank) != rank % 3) wrong = text("rank ", rank, " is elsewhere");
      });
      return wrong;
    }) == "");
  }
}

/// What all ranks measure when messages between nodes take so long.
std::string measure(const Topology& topology, int P, std::vector<Nodes>& measured) {
  measured.assign(static_cast<size_t>(P), {});
  const auto late_between = [&topology](int sender, int receiver, size_t) {
    MessageFault fault;
    if (topology.node_of(sender) != topology.node_of(receiver))
      fault.delay = std::chrono::milliseconds(20);
    return fault;
  };
  Stations stations(P, 30000, late_between);
  return stations.run([&](Station& station) {
    station.collective([&](Env& env) {
      measured[static_cast<size_t>(station.rank())] = measure_nodes(env, topology).value();
    });
    return "";
  });
}

TEST_CASE("within nodes and between them messages are measured apart, alike on all ranks") {
  const uint64_t numbers[] = {1, 2, 1, 2, 3, 3, 3};
  for (const int P : {2, 4, 7}) {
    const Topology topology({numbers, static_cast<size_t>(P)});
    std::vector<Nodes> measured;
    REQUIRE(measure(topology, P, measured) == "");
    CAPTURE(P);
    for (const Nodes& each : measured) {
      CHECK(each.count == topology.nodes());
      CHECK(each.largest == topology.largest());
      CHECK(each.leaders.alpha >= 0.02);
      if (topology.largest() > 1) CHECK(each.within.alpha < 0.02);
      CHECK(each.within.alpha == measured[0].within.alpha);
      CHECK(each.within.beta == measured[0].within.beta);
      CHECK(each.leaders.alpha == measured[0].leaders.alpha);
      CHECK(each.leaders.beta == measured[0].leaders.beta);
    }
  }
}

constexpr Network kShared{60e-6, 8 * 8.5e-9, kGammaOnHost};
/// Eight ranks on each of eight nodes, of which each has a link of 1 Gbit/s.
constexpr Nodes kEightByEight{8, 8, {1e-6, 1e-10, kGammaOnHost}, {55e-6, 8.5e-9, kGammaOnHost}};

TEST_CASE("Hierarchical has no time where nothing is known of nodes, and Auto does not take it") {
  const Shape shape{64, 1 << 24, 100000, 4, 0};
  CHECK(std::isinf(predicted_seconds(AlgorithmId::hierarchical, shape, kShared)));
  CHECK(choose_algorithm(shape, kShared).id == AlgorithmId::oktopk);
}

TEST_CASE("Auto takes Hierarchical where ranks share slow links, if it may") {
  std::set<AlgorithmId> taken;
  double before = 0;
  for (size_t k = 1; k <= 1 << 24; k *= 4) {
    const Shape shape{64, 1 << 24, k, 4, 0, 0, &kEightByEight};
    const double now = predicted_seconds(AlgorithmId::hierarchical, shape, kShared);
    CHECK(now > before);
    before = now;
    const AlgorithmId id = choose_algorithm(shape, kShared).id;
    for (const AlgorithmId other :
         {AlgorithmId::allgather, AlgorithmId::oktopk, AlgorithmId::hierarchical})
      CHECK(predicted_seconds(id, shape, kShared) <= predicted_seconds(other, shape, kShared));
    taken.insert(id);
  }
  CHECK(taken.contains(AlgorithmId::hierarchical));
  CHECK(choose_algorithm({64, 1 << 24, 100000, 4, 0, 0, &kEightByEight}, kShared).id ==
        AlgorithmId::hierarchical);
  // What a call by node leaves does not say how many entries the ranks had.
  CHECK(choose_algorithm({64, 1 << 24, kAll, 4, 6400000, 0, &kEightByEight}, kShared).id ==
        AlgorithmId::oktopk);
  // One rank a node: Oktopk without the steps within.
  const Network slow{60e-6, 8.5e-9, kGammaOnHost};
  const Nodes alone{64, 1, {1e-6, 1e-10, kGammaOnHost}, slow};
  CHECK(choose_algorithm({64, 1 << 24, 100000, 4, 0, 0, &alone}, slow).id == AlgorithmId::oktopk);
}

TEST_CASE("whom a message speaks for counts as heard of") {
  Stations stations(3);
  CHECK(stations.run([](Station& station) -> std::string {
    std::string wrong;
    station.call(call_with_k(1), [&](FramedCall& call) {
      // Rank 1 hears from 0 and speaks for it to 2, which answers; 2's word reaches 0 through 1.
      if (station.rank() == 0) station.exchange(call, 1, "", 1);
      if (station.rank() == 1) {
        station.exchange(call, Station::kNobody, "", 0);
        station.exchange(call, 2, "", 2);
        station.exchange(call, 0, "", Station::kNobody);
      }
      if (station.rank() == 2) station.exchange(call, 1, "", 1);
      call.confirm();
      const int all[] = {0, 1, 2};
      call.mark_covered(all);  // again: counts once
      call.confirm();
    });
    station.call(call_with_k(1), [&](FramedCall& call) {
      const int others[] = {(station.rank() + 1) % 3, (station.rank() + 2) % 3};
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
