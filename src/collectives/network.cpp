// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// What messages cost, by a few of them.
//
//   1. Small messages: in each of a few rounds every rank sends one to the rank that is a distance
//      ahead, and waits for the one that comes.
//   2. The same with long ones.
//   3. Both for the next rank and for the one half way round: however ranks are placed on several
//      nodes, one of these is elsewhere. All links are busy, both ways, as in the collectives, and
//      ranks of one node share theirs.
//   4. What every round took, as the mean over ranks, in whole numbers, so that all have the same.
//      A rank that is late waits the less for it, but the one it sends to waits the more: in the
//      mean over a ring this cancels, and a round never seems shorter than its messages were under
//      way. The fastest of the small rounds is alpha; what the fastest long one takes more is its
//      length's: beta, by the byte. Of the distance with the slower long messages.
//   5. By nodes: both for the next rank of the own node, then, between leaders only, for the one
//      half way round, which has the node's link to itself.
//
// Cost per rank: 16 messages of 64 bytes, 6 of 128 KiB, and one sum of counters; by nodes at most
// as much again.
#include "collectives/network.hpp"

#include <algorithm>
#include <cmath>

#include "collectives/allreduce_counts.hpp"
#include "collectives/topology.hpp"

namespace sparsecoll {

namespace {

constexpr size_t kSmallRounds = 8, kLongRounds = 3, kRounds = kSmallRounds + kLongRounds;
constexpr size_t kSmall = 64, kLong = size_t{1} << 17;
constexpr double kPicosecond = 1e-12;

/// Picoseconds of each round, of one rank or of several together.
using Rounds = std::span<uint64_t, kRounds>;

/// 1. and 2. False where messages cannot be timed.
bool spend(Env& env, Probe probe, Rounds rounds) {
  for (size_t i = 0; i < kRounds; ++i) {
    probe.bytes = i < kSmallRounds ? kSmall : kLong;
    const std::optional<double> spent = env.call.probe(probe);
    if (!spent) return false;
    rounds[i] = static_cast<uint64_t>(std::llround(std::max(*spent, 0.0) / kPicosecond));
  }
  return true;
}

/// 4. By what that many ranks spent together.
Network mean_of(Rounds sums, int ranks) {
  const auto mean = [&](uint64_t all) {
    return static_cast<double>(std::max<uint64_t>(all, 1)) / ranks * kPicosecond;
  };
  const uint64_t small = *std::ranges::min_element(sums.first<kSmallRounds>());
  const uint64_t large = std::max(*std::ranges::min_element(sums.last<kLongRounds>()), small);
  return {mean(small), mean(large - small) / (kLong - kSmall), kGammaOnHost};
}

/// To the rank that is a distance ahead in a ring, from the one that is as far behind.
Probe in_ring(std::span<const int> ring, size_t place, size_t distance) {
  const size_t all = ring.size();
  return {ring[(place + distance) % all], ring[(place + all - distance) % all], 0};
}

}  // namespace

std::optional<Network> measure_network(Env& env) {
  const int ranks = env.call.size(), rank = env.call.rank();
  uint64_t sums[2 * kRounds];
  const Rounds near{sums, kRounds}, far{sums + kRounds, kRounds};
  // 3.
  const auto measure = [&](int distance, Rounds rounds) {
    return spend(env, {(rank + distance) % ranks, (rank - distance + ranks) % ranks, 0}, rounds);
  };
  if (!measure(1, near) || !measure(std::max(ranks / 2, 1), far)) return {};
  // 4.
  allreduce_counts(env, sums);
  const Network next = mean_of(near, ranks), across = mean_of(far, ranks);
  const auto of_long = [](const Network& n) { return n.alpha + n.beta * (kLong - kSmall); };
  return of_long(across) > of_long(next) ? across : next;
}

// 5.
std::optional<Nodes> measure_nodes(Env& env, const Topology& topology) {
  const int rank = env.call.rank(), node = topology.node_of(rank), nodes = topology.nodes();
  const std::span<const int> neighbours = topology.ranks_of(node);
  uint64_t sums[2 * kRounds] = {};
  const Rounds within{sums, kRounds}, between{sums + kRounds, kRounds};
  if (neighbours.size() > 1) {
    const auto place = std::ranges::find(neighbours, rank) - neighbours.begin();
    if (!spend(env, in_ring(neighbours, static_cast<size_t>(place), 1), within)) return {};
  }
  if (rank == topology.leader(node) && nodes > 1) {
    const auto leaders = env.arena.take_span<int>(static_cast<size_t>(nodes));
    for (int each = 0; each < nodes; ++each)
      leaders[static_cast<size_t>(each)] = topology.leader(each);
    const Probe probe = in_ring(leaders, static_cast<size_t>(node), leaders.size() / 2);
    if (!spend(env, probe, between)) return {};
  }
  allreduce_counts(env, sums);
  int sharing = 0;  // ranks that are not alone
  for (int each = 0; each < nodes; ++each)
    if (const size_t here = topology.ranks_of(each).size(); here > 1)
      sharing += static_cast<int>(here);
  return Nodes{nodes, topology.largest(), mean_of(within, std::max(sharing, 1)),
               mean_of(between, nodes)};
}

}  // namespace sparsecoll
