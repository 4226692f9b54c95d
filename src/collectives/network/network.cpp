// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Measures the cost of messages by sending a few.
//
//   1. Small messages: in each of a few rounds every rank sends a message to the rank that is a
//      certain distance ahead of it in a ring, and waits for the message of the rank behind it.
//   2. Long messages: make such rounds with them, too.
//   3. Do both for distance 1 and for distance P / 2. However the ranks are placed on several
//      nodes, one of these two ranks is on another node. All links are busy in both directions, as
//      in the collectives, and the ranks of a node share its link.
//   4. Compute the mean of each round's time over the ranks, in whole picoseconds, so that all
//      ranks have the same. If a rank is late, it waits less, but its successor waits longer. This
//      cancels in the mean over the ring, and a round never seems shorter than its messages take.
//      Alpha is the time of the fastest small round. Beta is what the fastest long round takes
//      beyond that, per byte. Take both from the distance whose long messages are slower.
//   5. By nodes: measure in this way the next rank of the node, and then, between leaders only, the
//      leader half way round the ring. A leader has the link of its node to itself.
//
// Cost per rank: 16 messages of 64 bytes, 6 of 128 KiB, and one sum of counters; a measurement by
// nodes takes at most as many again.
#include "collectives/network/network.hpp"

#include <algorithm>
#include <cmath>

#include "collectives/building_blocks/allreduce_counts.hpp"
#include "collectives/network/topology.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

constexpr size_t kSmallRounds = 8, kLongRounds = 3, kRounds = kSmallRounds + kLongRounds;
constexpr size_t kSmall = 64, kLong = size_t{1} << 17;
constexpr double kPicosecond = 1e-12;

/// Restores the statistics at the end of its scope.
class Uncounted {
 public:
  explicit Uncounted(Stats& stats) : stats_(stats), before_(stats) {}
  ~Uncounted() { stats_ = before_; }
  Uncounted(const Uncounted&) = delete;
  Uncounted& operator=(const Uncounted&) = delete;

 private:
  Stats& stats_;
  const Stats before_;
};

/// The picoseconds of each round, of one rank or the sum over several.
using Rounds = std::span<uint64_t, kRounds>;

/// Does steps 1 and 2. Returns false if messages cannot be timed.
bool time_rounds(Env& env, Probe probe, Rounds rounds) {
  for (size_t i = 0; i < kRounds; ++i) {
    probe.bytes = i < kSmallRounds ? kSmall : kLong;
    const std::optional<double> spent = env.call.probe(probe);
    if (!spent) return false;
    rounds[i] = static_cast<uint64_t>(std::llround(std::max(*spent, 0.0) / kPicosecond));
  }
  return true;
}

/// Does step 4 for a number of ranks, from the sums of the ranks' times.
Network mean_of(Rounds sums, int ranks) {
  const auto mean = [&](uint64_t all) {
    return static_cast<double>(std::max<uint64_t>(all, 1)) / ranks * kPicosecond;
  };
  const uint64_t small = *std::ranges::min_element(sums.first<kSmallRounds>());
  const uint64_t large = std::max(*std::ranges::min_element(sums.last<kLongRounds>()), small);
  return {mean(small), mean(large - small) / (kLong - kSmall), kGammaOnHost};
}

/// Returns the probe that sends to the rank `distance` ahead in a ring and receives from the rank
/// as far behind.
Probe ring_probe(std::span<const int> ring, size_t position, size_t distance) {
  const size_t all = ring.size();
  return {ring[(position + distance) % all], ring[(position + all - distance) % all], 0};
}

}  // namespace

std::string words_of(const Network& network) {
  return text("alpha ", network.alpha * 1e6, " us, beta ", network.beta * 1e9, " ns a byte");
}

std::string words_of(const NodeNetwork& network) {
  return text("within nodes ", words_of(network.within), "; between leaders ",
              words_of(network.leaders));
}

uint64_t mean_of_ranks(Env& env, uint64_t own) {
  const Uncounted uncounted(env.stats);
  allreduce_counts(env, {&own, 1});
  return own / static_cast<uint64_t>(env.call.size());
}

bool has_near_ranks(const Topology& topology) {
  return topology.largest_node_size() > 1 || topology.of_leaders().levels() > 0;
}

std::optional<Network> measure_network(Env& env) {
  const Uncounted uncounted(env.stats);
  const int ranks = env.call.size(), rank = env.call.rank();
  uint64_t sums[2 * kRounds];
  const Rounds near{sums, kRounds}, far{sums + kRounds, kRounds};
  // 3.
  const auto measure = [&](int distance, Rounds rounds) {
    return time_rounds(env, {(rank + distance) % ranks, (rank - distance + ranks) % ranks, 0},
                       rounds);
  };
  if (!measure(1, near) || !measure(std::max(ranks / 2, 1), far)) return {};
  // 4.
  allreduce_counts(env, sums);
  const Network next = mean_of(near, ranks), across = mean_of(far, ranks);
  const auto long_seconds = [](const Network& n) { return n.alpha + n.beta * (kLong - kSmall); };
  return long_seconds(across) > long_seconds(next) ? across : next;
}

// 5.
std::optional<NodeNetwork> measure_node_network(Env& env, const Topology& topology) {
  const Uncounted uncounted(env.stats);
  const int rank = env.call.rank(), node = topology.node_of(rank), nodes = topology.nodes();
  const std::span<const int> neighbours = topology.ranks_of(node);
  uint64_t sums[2 * kRounds] = {};
  const Rounds within{sums, kRounds}, between{sums + kRounds, kRounds};
  if (neighbours.size() > 1) {
    const auto position = std::ranges::find(neighbours, rank) - neighbours.begin();
    if (!time_rounds(env, ring_probe(neighbours, static_cast<size_t>(position), 1), within))
      return {};
  }
  if (rank == topology.leader(node) && nodes > 1) {
    const auto leaders = env.arena.take_span<int>(static_cast<size_t>(nodes));
    for (int each = 0; each < nodes; ++each)
      leaders[static_cast<size_t>(each)] = topology.leader(each);
    const Probe probe = ring_probe(leaders, static_cast<size_t>(node), leaders.size() / 2);
    if (!time_rounds(env, probe, between)) return {};
  }
  allreduce_counts(env, sums);
  int timed_ranks = 0;  // ranks that share a node
  for (int each = 0; each < nodes; ++each)
    if (const size_t here = topology.ranks_of(each).size(); here > 1)
      timed_ranks += static_cast<int>(here);
  return NodeNetwork{nodes, topology.largest_node_size(), mean_of(within, std::max(timed_ranks, 1)),
                     mean_of(between, nodes)};
}

}  // namespace sparsecoll
