// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// What messages cost, by a few of them.
//
//   1. Small messages: in each of a few rounds every rank sends one to the rank that is a distance
//      ahead, and waits for the one that comes. The fastest round is alpha.
//   2. The same with long ones; what the fastest takes more is theirs, by the byte: beta. All links
//      are busy, both ways, as in the collectives, and ranks of one node share theirs.
//   3. Both for the next rank and for the one half way round: however ranks are placed on several
//      nodes, one of these is elsewhere. The mean over ranks, in whole numbers, so that all have
//      the same; then the distance with the slower long messages.
//   4. By nodes: both for the next rank of the own node, then, between leaders only, for the one
//      half way round, which has the node's link to itself.
//
// Cost per rank: 16 messages of 64 bytes, 6 of 128 KiB, and one sum of counters; by nodes at most
// as much again.
#include "collectives/network.hpp"

#include <algorithm>
#include <cmath>

#include "collectives/algorithm.hpp"
#include "collectives/topology.hpp"

namespace sparsecoll {

namespace {

constexpr int kSmallRounds = 8, kLongRounds = 3;
constexpr size_t kSmall = 64, kLong = size_t{1} << 17;
constexpr double kPicosecond = 1e-12;

/// Seconds of the fastest round.
std::optional<double> fastest(Env& env, int rounds, const Probe& probe) {
  std::optional<double> least;
  for (int i = 0; i < rounds; ++i) {
    const std::optional<double> spent = env.call.probe(probe);
    if (!spent) return {};
    least = least ? std::min(*least, *spent) : *spent;
  }
  return least;
}

/// Picoseconds of the fastest small message and of the fastest long one.
struct Spent {
  uint64_t small = 0;
  uint64_t large = 0;
};

std::optional<Spent> spend(Env& env, Probe probe) {
  const auto whole = [](double seconds) {
    return static_cast<uint64_t>(std::llround(std::max(seconds, 0.0) / kPicosecond));
  };
  // 1.
  probe.bytes = kSmall;
  const std::optional<double> small = fastest(env, kSmallRounds, probe);
  if (!small) return {};
  // 2.
  probe.bytes = kLong;
  const std::optional<double> large = fastest(env, kLongRounds, probe);
  if (!large) return {};
  return Spent{whole(*small), whole(*large)};
}

/// By what that many ranks spent together.
Network mean_of(const Spent& sum, int ranks) {
  const auto mean = [&](uint64_t all) {
    return static_cast<double>(std::max<uint64_t>(all, 1)) / ranks * kPicosecond;
  };
  return {mean(sum.small), mean(std::max(sum.large, sum.small) - sum.small) / (kLong - kSmall)};
}

/// To the rank that is a distance ahead in a ring, from the one that is as far behind.
Probe in_ring(std::span<const int> ring, size_t place, size_t distance) {
  const size_t all = ring.size();
  return {ring[(place + distance) % all], ring[(place + all - distance) % all], 0};
}

}  // namespace

std::optional<Network> measure_network(Env& env) {
  const int ranks = env.call.size(), rank = env.call.rank();
  uint64_t sums[4];  // small and long, for each distance
  uint64_t* sum = sums;
  for (const int distance : {1, std::max(ranks / 2, 1)}) {
    const auto spent =
        spend(env, {(rank + distance) % ranks, (rank - distance + ranks) % ranks, 0});
    if (!spent) return {};
    *sum++ = spent->small;
    *sum++ = spent->large;
  }
  // 3.
  allreduce_counts(env, sums);
  const size_t slower = sums[3] > sums[1] ? 2 : 0;
  return mean_of({sums[slower], sums[slower + 1]}, ranks);
}

// 4.
std::optional<Nodes> measure_nodes(Env& env, const Topology& topology) {
  const int rank = env.call.rank(), node = topology.node_of(rank), nodes = topology.nodes();
  const std::span<const int> neighbours = topology.ranks_of(node);
  uint64_t sums[4] = {};  // small and long, within and between
  if (neighbours.size() > 1) {
    const auto place = std::ranges::find(neighbours, rank) - neighbours.begin();
    const auto spent = spend(env, in_ring(neighbours, static_cast<size_t>(place), 1));
    if (!spent) return {};
    sums[0] = spent->small;
    sums[1] = spent->large;
  }
  if (rank == topology.leader(node) && nodes > 1) {
    const auto leaders = env.arena.take_span<int>(static_cast<size_t>(nodes));
    for (int each = 0; each < nodes; ++each)
      leaders[static_cast<size_t>(each)] = topology.leader(each);
    const auto spent = spend(env, in_ring(leaders, static_cast<size_t>(node), leaders.size() / 2));
    if (!spent) return {};
    sums[2] = spent->small;
    sums[3] = spent->large;
  }
  allreduce_counts(env, sums);
  int sharing = 0;  // ranks that are not alone
  for (int each = 0; each < nodes; ++each)
    if (const size_t here = topology.ranks_of(each).size(); here > 1)
      sharing += static_cast<int>(here);
  return Nodes{nodes, topology.largest(), mean_of({sums[0], sums[1]}, std::max(sharing, 1)),
               mean_of({sums[2], sums[3]}, nodes)};
}

}  // namespace sparsecoll
