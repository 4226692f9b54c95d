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
//
// Cost per rank: 16 messages of 64 bytes, 6 of 128 KiB, and one sum of counters.
#include "collectives/network.hpp"

#include <algorithm>
#include <cmath>

#include "collectives/algorithm.hpp"

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

}  // namespace

std::optional<Network> measure_network(Env& env) {
  const int ranks = env.call.size(), rank = env.call.rank();
  uint64_t sums[4];  // small and long, for each distance
  uint64_t* sum = sums;
  for (const int distance : {1, std::max(ranks / 2, 1)}) {
    Probe probe{(rank + distance) % ranks, (rank - distance + ranks) % ranks, kSmall};
    // 1.
    const std::optional<double> small = fastest(env, kSmallRounds, probe);
    if (!small) return {};
    // 2.
    probe.bytes = kLong;
    const std::optional<double> large = fastest(env, kLongRounds, probe);
    for (const double seconds : {*small, *large})
      *sum++ = static_cast<uint64_t>(std::llround(std::max(seconds, 0.0) / kPicosecond));
  }
  // 3.
  allreduce_counts(env, sums);
  const size_t slower = sums[3] > sums[1] ? 2 : 0;
  const auto mean = [&](uint64_t all) {
    return static_cast<double>(std::max<uint64_t>(all, 1)) / ranks * kPicosecond;
  };
  const uint64_t small = sums[slower], large = std::max(sums[slower + 1], small);
  return Network{mean(small), mean(large - small) / (kLong - kSmall)};
}

}  // namespace sparsecoll
