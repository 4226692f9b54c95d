// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Allreduce of counters: the sum over ranks, for every P in ceil(log2 P) rounds.
#include "collectives/building_blocks/allreduce_counts.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace sparsecoll {

namespace {

constexpr size_t kVarint = 10;  // bytes of the longest encoded counter

/// Encodes counters as base-128 digits, the lowest first, because most counters are small. Returns
/// the number of bytes.
size_t encode(std::span<const uint64_t> counters, std::byte* out) {
  std::byte* at = out;
  for (uint64_t value : counters) {
    for (; value >= 128; value >>= 7) *at++ = static_cast<std::byte>(value | 128);
    *at++ = static_cast<std::byte>(value);
  }
  return static_cast<size_t>(at - out);
}

/// Decodes counters and adds them to `counters`.
void add_decoded(ConstBytes in, int sender, std::span<uint64_t> counters) {
  size_t at = 0;
  for (uint64_t& counter : counters) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      if (at == in.size() || shift > 63)
        fail(sparsecollRemoteError, "rank ", sender, " sent malformed counters");
      const auto digit = static_cast<uint64_t>(in[at++]);
      value |= (digit & 127) << shift;
      if (digit < 128) break;
    }
    counter += value;
  }
  // In stream order a message has its largest size; the unused bytes are 0.
  if (std::any_of(in.begin() + static_cast<std::ptrdiff_t>(at), in.end(),
                  [](std::byte each) { return each != std::byte{}; }))
    fail(sparsecollRemoteError, "rank ", sender, " sent too many counters");
}

}  // namespace

// Sums over windows of ranks. Before round t each rank r has W_t, the sum over ranks r - 2^t + 1 ..
// r, and R, the sum over the `done` ranks r - done + 1 .. r, where done = P mod 2^t.
//   1. If bit t of P is set, R += W_t of rank r - done; done += 2^t.
//   2. W_{t+1} = W_t + W_t of rank r - 2^t.
// There are ceil(log2 P) rounds. A rank sends at most two messages in a round.
void allreduce_counts(Env& env, std::span<uint64_t> counters) {
  const int ranks = env.call.size(), rank = env.call.rank();
  const auto window = env.arena.take_span<uint64_t>(counters.size());
  std::copy(counters.begin(), counters.end(), window.begin());
  int done = 0;
  for (int bit = 1; bit <= ranks; bit *= 2) {
    const bool joins = ranks & bit;
    const bool far = joins && done > 0;  // R needs W_t of another rank
    const bool grows = bit * 2 <= ranks;
    if (joins && !far) std::copy(window.begin(), window.end(), counters.begin());
    Transfer transfers[4];
    size_t n = 0;
    const auto shift = [&](int distance) {
      // Each message has memory of its own, because the call writes a header into its headroom.
      const size_t most =
          std::max<size_t>(window.size() * kVarint, 1);  // a bound of 0 means no message
      std::byte* room = packet_memory(env, most);
      const size_t bytes = encode(window, room);
      transfers[n++] = {(rank + distance) % ranks, {room, bytes, nullptr, most}, 0, {}};
      transfers[n++] = {(rank - distance + ranks) % ranks, {}, most, {}};
      transfers[n - 2].message_memory = transfers[n - 1].message_memory = MessageMemory::host;
    };
    if (far) shift(done);
    if (grows) shift(bit);
    env.call.exchange({transfers, n});
    if (far) add_decoded(transfers[1].in, env.call.communicator_rank(transfers[1].peer), counters);
    if (grows)
      add_decoded(transfers[n - 1].in, env.call.communicator_rank(transfers[n - 1].peer), window);
    if (joins) done += bit;
  }
}

}  // namespace sparsecoll
