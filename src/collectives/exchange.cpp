// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Small collectives that the algorithms share: the sum of counters and the allgather of messages of
// any size, for every P in about log2 P rounds; and a meeting of all.
#include <algorithm>
#include <array>
#include <cstring>

#include "collectives/algorithm.hpp"
#include "core/error.hpp"

namespace sparsecoll {

std::byte* packet_room(Env& env, size_t bytes) {
  return env.arena.take<std::byte>(kHeadroom + bytes) + kHeadroom;
}

SparseBuffer no_entries(Env& env) { return env.kernels.sparse(0); }

void meet(Call& call, Arena& arena) {
  const int ranks = call.size(), rank = call.rank();
  const auto legs = arena.take_span<Leg>(2 * static_cast<size_t>(ranks - 1));
  for (int distance = 1; distance < ranks; ++distance) {
    const auto i = 2 * static_cast<size_t>(distance - 1);
    legs[i] = {(rank + distance) % ranks, {arena.take<std::byte>(kHeadroom) + kHeadroom}, 0, {}};
    legs[i + 1] = {(rank - distance + ranks) % ranks, {}, kUnknownSize, {}};
    legs[i].carried = legs[i + 1].carried = Carried::by_host;
  }
  call.exchange(legs);
}

namespace {

constexpr size_t kVarint = 10;  // bytes of the longest

/// Counters travel as base-128 digits, lowest first: most are small.
size_t encode(std::span<const uint64_t> counters, std::byte* out) {
  std::byte* at = out;
  for (uint64_t value : counters) {
    for (; value >= 128; value >>= 7) *at++ = static_cast<std::byte>(value | 128);
    *at++ = static_cast<std::byte>(value);
  }
  return static_cast<size_t>(at - out);
}

void add_decoded(ConstBytes in, int peer, std::span<uint64_t> counters) {
  size_t at = 0;
  for (uint64_t& counter : counters) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      if (at == in.size() || shift > 63)
        fail(sparsecollRemoteError, "rank ", peer, " sent malformed counters");
      const auto digit = static_cast<uint64_t>(in[at++]);
      value |= (digit & 127) << shift;
      if (digit < 128) break;
    }
    counter += value;
  }
  // Where sizes are agreed there is room left.
  if (std::any_of(in.begin() + static_cast<std::ptrdiff_t>(at), in.end(),
                  [](std::byte each) { return each != std::byte{}; }))
    fail(sparsecollRemoteError, "rank ", peer, " sent too many counters");
}

}  // namespace

// Window sums. Before round t every rank r has W_t = the sum over ranks r - 2^t + 1 .. r, and R =
// the sum over the `done` ranks r - done + 1 .. r, where done = P mod 2^t.
//   1. If bit t of P is set, R += W_t of rank r - done; done += 2^t.
//   2. W_{t+1} = W_t + W_t of rank r - 2^t.
// ceil(log2 P) rounds, at most two messages a round.
void allreduce_counts(Env& env, std::span<uint64_t> counters) {
  const int ranks = env.call.size(), rank = env.call.rank();
  const auto window = env.arena.take_span<uint64_t>(counters.size());
  std::copy(counters.begin(), counters.end(), window.begin());
  int done = 0;
  for (int bit = 1; bit <= ranks; bit *= 2) {
    const bool joins = ranks & bit;
    const bool far = joins && done > 0;  // W_t of another rank is needed for R
    const bool grows = bit * 2 <= ranks;
    if (joins && !far) std::copy(window.begin(), window.end(), counters.begin());
    Leg legs[4];
    size_t n = 0;
    const auto shift = [&](int distance) {
      // Each message has room of its own: both carry a header.
      const size_t most = std::max<size_t>(window.size() * kVarint, 1);  // 0 is no message
      std::byte* room = packet_room(env, most);
      const size_t bytes = encode(window, room);
      legs[n++] = {(rank + distance) % ranks, {room, bytes, nullptr, most}, 0, {}};
      legs[n++] = {(rank - distance + ranks) % ranks, {}, most, {}};
      legs[n - 2].carried = legs[n - 1].carried = Carried::by_host;
    };
    if (far) shift(done);
    if (grows) shift(bit);
    env.call.exchange({legs, n});
    if (far) add_decoded(legs[1].in, legs[1].peer, counters);
    if (grows) add_decoded(legs[n - 1].in, legs[n - 1].peer, window);
    if (joins) done += bit;
  }
}

namespace {

/// Blocks one after another, each {bytes, note, bytes padded to 8}.
struct BlockHeader {
  uint64_t bytes;
  uint64_t note;
};

size_t blocks_size(std::span<const Gathered> blocks) {
  size_t total = 0;
  for (const Gathered& each : blocks)
    total += sizeof(BlockHeader) + align_up(each.message.size(), 8);
  return total;
}

void put_block(const Gathered& block, std::byte*& at) {
  const BlockHeader header{block.message.size(), block.note};
  std::memcpy(at, &header, sizeof header);
  at += sizeof header;
  std::copy(block.message.begin(), block.message.end(), at);
  const size_t padded = align_up(block.message.size(), 8);
  std::memset(at + block.message.size(), 0, padded - block.message.size());
  at += padded;
}

Gathered get_block(ConstBytes& in, int peer) {
  BlockHeader header;
  if (in.size() < sizeof header) fail(sparsecollRemoteError, "rank ", peer, " sent too few blocks");
  std::memcpy(&header, in.data(), sizeof header);
  in = in.subspan(sizeof header);
  if (header.bytes > in.size() || align_up(header.bytes, 8) > in.size())
    fail(sparsecollRemoteError, "rank ", peer, " sent a block of ", header.bytes, " bytes in ",
         in.size());
  const Gathered block{in.first(header.bytes), header.note};
  in = in.subspan(align_up(header.bytes, 8));
  return block;
}

// Bruck's algorithm. Before round t rank r holds the messages of ranks r .. r + 2^t - 1; it sends
// them, as far as they are missing there, to r - 2^t and receives those that follow from r + 2^t.
// ceil(log2 P) rounds; every message arrives once. Result by distance from this rank.
std::span<const Gathered> gather_by_bruck(Env& env, ConstBytes own, uint64_t note) {
  const int ranks = env.call.size(), rank = env.call.rank();
  const auto held = env.arena.take_span<Gathered>(static_cast<size_t>(ranks));
  held[0] = {own, note};
  for (int have = 1; have < ranks; have *= 2) {
    const int more = std::min(have, ranks - have);
    const auto sent = held.first(static_cast<size_t>(more));
    const size_t bytes = blocks_size(sent);
    std::byte* room = packet_room(env, bytes);
    std::byte* at = room;
    for (const Gathered& each : sent) put_block(each, at);
    Leg legs[2];
    legs[0] = {(rank - have + ranks) % ranks, {room, bytes, nullptr}, 0, {}, Carried::by_host};
    legs[1] = {(rank + have) % ranks, {}, kUnknownSize, {}, Carried::by_host};
    env.call.exchange(legs);
    for (int i = 0; i < more; ++i)
      held[static_cast<size_t>(have + i)] = get_block(legs[1].in, legs[1].peer);
    if (!legs[1].in.empty())
      fail(sparsecollRemoteError, "rank ", legs[1].peer, " sent too many blocks");
  }
  return held;
}

/// A size and a note.
using Size = std::array<uint64_t, 2>;

// The same of sizes, which are as long on all ranks.
std::span<const Size> gather_sizes(Env& env, const Size& own) {
  const int ranks = env.call.size(), rank = env.call.rank();
  const auto held = env.arena.take_span<Size>(static_cast<size_t>(ranks));
  held[0] = own;
  for (int have = 1; have < ranks; have *= 2) {
    const auto more = static_cast<size_t>(std::min(have, ranks - have));
    const size_t bytes = more * sizeof(Size);
    std::byte* room = packet_room(env, bytes);
    std::memcpy(room, held.data(), bytes);
    Leg legs[2];
    legs[0] = {
        (rank - have + ranks) % ranks, {room, bytes, nullptr, bytes}, 0, {}, Carried::by_host};
    legs[1] = {(rank + have) % ranks, {}, bytes, {}, Carried::by_host};
    env.call.exchange(legs);
    std::memcpy(&held[static_cast<size_t>(have)], legs[1].in.data(), bytes);
  }
  return held;
}

// In stream order the host sees no message, so that it could not forward them without waiting for
// each. Sizes first, then one exchange of every message with every rank. By distance, likewise.
std::span<const Gathered> gather_directly(Env& env, ConstBytes own, uint64_t note) {
  const int ranks = env.call.size(), rank = env.call.rank();
  const std::span<const Size> sizes = gather_sizes(env, {own.size(), note});
  const auto held = env.arena.take_span<Gathered>(sizes.size());
  const auto legs = env.arena.take_span<Leg>(sizes.size() - 1);
  held[0] = {own, note};
  // Its headroom belongs to the call.
  const Packet packet{const_cast<std::byte*>(own.data()), own.size(), nullptr, own.size()};
  for (size_t d = 1; d < sizes.size(); ++d) {
    // One leg a peer: what goes there and what comes from there.
    legs[d - 1] = {(rank + static_cast<int>(d)) % ranks, packet, sizes[d][0], {}};
    if (own.empty()) legs[d - 1].out = {};
  }
  env.call.exchange(legs);
  for (size_t d = 1; d < sizes.size(); ++d) held[d] = {legs[d - 1].in, sizes[d][1]};
  return held;
}

}  // namespace

std::span<const Gathered> allgather_messages(Env& env, ConstBytes own, uint64_t note) {
  const auto held = env.call.in_stream_order() ? gather_directly(env, own, note)
                                               : gather_by_bruck(env, own, note);
  const auto by_rank = env.arena.take_span<Gathered>(held.size());
  for (size_t d = 0; d < held.size(); ++d)
    by_rank[(static_cast<size_t>(env.call.rank()) + d) % held.size()] = held[d];
  return by_rank;
}

}  // namespace sparsecoll
