// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// What messages cost, by a few of them.
//
//   1. Small messages: in each of a few rounds every rank sends one to the rank half way round,
//      which is on another node where there are several, and waits for the one that comes. The
//      fastest round is alpha.
//   2. The same with long ones; what the fastest takes more is theirs, by the byte: beta. All links
//      are busy, both ways, as in the collectives, and ranks of one node share theirs.
//   3. The mean over ranks, in whole numbers, so that all ranks have the same.
//
// Cost per rank: 8 messages of 64 bytes, 3 of 128 KiB, and one sum of counters.
#include "collectives/network.hpp"

#include <algorithm>
#include <cmath>

#include "collectives/algorithm.hpp"

namespace sparsecoll {

namespace {

constexpr int kSmallRounds = 8, kLongRounds = 3;
constexpr size_t kSmall = 64, kLong = size_t{1} << 17;
constexpr double kNanosecond = 1e-9, kFemtosecond = 1e-15;

/// Seconds of the fastest round.
double fastest(Env& env, int rounds, size_t bytes) {
  const int ranks = env.call.size(), rank = env.call.rank(), distance = std::max(ranks / 2, 1);
  double least = 0;
  for (int i = 0; i < rounds; ++i) {
    // Each message has room of its own, since the last one may still be under way.
    std::byte* const room = packet_room(env, bytes);
    std::fill_n(room, bytes, std::byte{0});
    Leg legs[2];
    legs[0] = {(rank + distance) % ranks, {room, bytes, nullptr, bytes}, 0, {}, Carried::by_host};
    legs[1] = {(rank - distance + ranks) % ranks, {}, bytes, {}, Carried::by_host};
    const double start = env.call.seconds();
    env.call.exchange(legs);
    const double spent = env.call.seconds() - start;
    least = i == 0 ? spent : std::min(least, spent);
  }
  return least;
}

}  // namespace

Network measure_network(Env& env) {
  // 1.
  const double alpha = fastest(env, kSmallRounds, kSmall);
  // 2.
  const double more = fastest(env, kLongRounds, kLong) - alpha;
  const double beta = std::max(more, 0.0) / (kLong - kSmall);
  // 3.
  uint64_t sums[2] = {static_cast<uint64_t>(std::llround(alpha / kNanosecond)),
                      static_cast<uint64_t>(std::llround(beta / kFemtosecond))};
  allreduce_counts(env, sums);
  const auto mean = [&env](uint64_t sum) {
    return static_cast<double>(std::max<uint64_t>(sum, 1)) / env.call.size();
  };
  return {mean(sums[0]) * kNanosecond, mean(sums[1]) * kFemtosecond};
}

}  // namespace sparsecoll
