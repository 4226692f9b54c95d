// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Allgather of messages of any size, for every P. Short ones by Bruck et al., Efficient Algorithms
// for All-to-All Communications in Multiport Message-Passing Systems (IEEE TPDS 1997), in
// ceil(log2 P) rounds; long ones each straight to every rank, P - 1 messages, several under way,
// and P - 1 short ones more where the host does not see them. Both send every message to every rank
// once.
#include "collectives/allgather_messages.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/error.hpp"

namespace sparsecoll {

namespace {

using OnMessage = FunctionRef<void(int rank, const GatheredMessage& received)>;

/// Blocks one after another, each {bytes, note, bytes padded to 8}.
struct BlockHeader {
  uint64_t bytes;
  uint64_t number;
};
/// Instead of bytes: they are hidden, and follow in a message of their own.
constexpr uint64_t kFollows = kAll;

size_t blocks_size(std::span<const GatheredMessage> blocks) {
  size_t total = 0;
  for (const GatheredMessage& each : blocks)
    total += sizeof(BlockHeader) + align_up(each.message.size(), 8);
  return total;
}

void put_block(const GatheredMessage& block, std::byte*& at) {
  const BlockHeader header{block.message.size(), block.number};
  std::memcpy(at, &header, sizeof header);
  at += sizeof header;
  std::copy(block.message.begin(), block.message.end(), at);
  const size_t padded = align_up(block.message.size(), 8);
  std::memset(at + block.message.size(), 0, padded - block.message.size());
  at += padded;
}

GatheredMessage get_block(ConstBytes& in, int sender) {
  BlockHeader header;
  if (in.size() < sizeof header)
    fail(sparsecollRemoteError, "rank ", sender, " sent too few blocks");
  std::memcpy(&header, in.data(), sizeof header);
  in = in.subspan(sizeof header);
  if (header.bytes > in.size() || align_up(header.bytes, 8) > in.size())
    fail(sparsecollRemoteError, "rank ", sender, " sent a block of ", header.bytes, " bytes in ",
         in.size());
  const GatheredMessage block{in.first(header.bytes), header.number};
  in = in.subspan(align_up(header.bytes, 8));
  return block;
}

/// A hidden message on the host, who is to forward it.
ConstBytes seen(Env& env, ConstBytes message) {
  if (!env.kernels.is_on_device(message.data())) return message;
  const auto copy = env.arena.take_span<std::byte>(message.size());
  env.kernels.download(message.data(), copy);
  return copy;
}

// Bruck's algorithm. Before round t rank r holds the messages of ranks r .. r + 2^t - 1; it sends
// them, as far as they are missing there, to r - 2^t and receives those that follow from r + 2^t.
// ceil(log2 P) rounds; every message arrives once. Result by distance from this rank.
std::span<const GatheredMessage> gather_by_bruck(Env& env, ConstBytes own, uint64_t number) {
  const int ranks = env.call.size(), rank = env.call.rank();
  const auto held = env.arena.take_span<GatheredMessage>(static_cast<size_t>(ranks));
  held[0] = {seen(env, own), number};
  for (int have = 1; have < ranks; have *= 2) {
    const int more = std::min(have, ranks - have);
    const auto sent = held.first(static_cast<size_t>(more));
    const size_t bytes = blocks_size(sent);
    std::byte* room = packet_memory(env, bytes);
    std::byte* at = room;
    for (const GatheredMessage& each : sent) put_block(each, at);
    Transfer transfers[2];
    transfers[0] = {
        (rank - have + ranks) % ranks, {room, bytes, nullptr}, 0, {}, MessageMemory::host};
    transfers[1] = {(rank + have) % ranks, {}, kUnknownSize, {}, MessageMemory::host};
    env.call.exchange(transfers);
    const int sender = env.call.communicator_rank(transfers[1].peer);
    for (int i = 0; i < more; ++i)
      held[static_cast<size_t>(have + i)] = get_block(transfers[1].in, sender);
    if (!transfers[1].in.empty())
      fail(sparsecollRemoteError, "rank ", sender, " sent too many blocks");
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
    std::byte* room = packet_memory(env, bytes);
    std::memcpy(room, held.data(), bytes);
    Transfer transfers[2];
    transfers[0] = {
        (rank - have + ranks) % ranks, {room, bytes, nullptr, bytes}, 0, {}, MessageMemory::host};
    transfers[1] = {(rank + have) % ranks, {}, bytes, {}, MessageMemory::host};
    env.call.exchange(transfers);
    std::memcpy(&held[static_cast<size_t>(have)], transfers[1].in.data(), bytes);
  }
  return held;
}

// In stream order the host sees no message, so that it could not forward them without waiting for
// each. Sizes first, then one exchange of every message with every rank. By distance, likewise.
std::span<const GatheredMessage> gather_directly(Env& env, ConstBytes own, uint64_t number) {
  const int ranks = env.call.size(), rank = env.call.rank();
  const std::span<const Size> sizes = gather_sizes(env, {own.size(), number});
  const auto held = env.arena.take_span<GatheredMessage>(sizes.size());
  const auto transfers = env.arena.take_span<Transfer>(sizes.size() - 1);
  held[0] = {own, number};
  // Its headroom belongs to the call.
  const Packet packet{const_cast<std::byte*>(own.data()), own.size(), nullptr, own.size()};
  for (size_t d = 1; d < sizes.size(); ++d) {
    // One leg a peer: what goes there and what comes from there.
    transfers[d - 1] = {(rank + static_cast<int>(d)) % ranks, packet, sizes[d][0], {}};
    if (own.empty()) transfers[d - 1].out = {};
  }
  env.call.exchange(transfers);
  for (size_t d = 1; d < sizes.size(); ++d) held[d] = {transfers[d - 1].in, sizes[d][1]};
  return held;
}

/// A block that came alone, or the note of one that is hidden.
struct Lone {
  GatheredMessage block;
  bool follows;
};

Lone only_block(ConstBytes in, int sender) {
  BlockHeader header;
  if (in.size() == sizeof header) {
    std::memcpy(&header, in.data(), sizeof header);
    if (header.bytes == kFollows) return {{{}, header.number}, true};
  }
  const GatheredMessage block = get_block(in, sender);
  if (!in.empty()) fail(sparsecollRemoteError, "rank ", sender, " sent too many blocks");
  return {block, false};
}

Packet pack_lone(Env& env, const GatheredMessage& block) {
  const bool hidden = env.kernels.is_on_device(block.message.data());
  const size_t bytes = hidden ? sizeof(BlockHeader) : blocks_size({&block, 1});
  std::byte* const room = packet_memory(env, bytes);
  const BlockHeader header{kFollows, block.number};
  std::byte* at = room;
  if (hidden)
    std::memcpy(at, &header, sizeof header);
  else
    put_block(block, at);
  return {room, bytes};
}

// Where the host sees messages they need no sizes first. Destinations rotate. Hidden ones follow in
// a second exchange, which is left out where nobody has one: only their owners know of them before.
// By distance, likewise.
std::span<const GatheredMessage> gather_at_once(Env& env, ConstBytes own, uint64_t number,
                                                OnMessage on_message) {
  const int ranks = env.call.size(), rank = env.call.rank();
  const auto held = env.arena.take_span<GatheredMessage>(static_cast<size_t>(ranks));
  held[0] = {own, number};
  const auto transfers = env.arena.take_span<Transfer>(held.size() - 1);
  const auto follows = env.arena.take_span<bool>(transfers.size());
  const Packet packet = transfers.empty() ? Packet{} : pack_lone(env, held[0]);
  for (size_t d = 1; d < held.size(); ++d)
    transfers[d - 1] = {
        (rank + static_cast<int>(d)) % ranks, packet, kUnknownSize, {}, MessageMemory::host};
  bool any = false;
  env.call.exchange_each(transfers, [&](size_t i) {
    const int peer = transfers[i].peer;
    const Lone lone = only_block(transfers[i].in, env.call.communicator_rank(peer));
    held[i + 1] = lone.block;
    follows[i] = lone.follows;
    any = any || lone.follows;
    if (!lone.follows) on_message(peer, lone.block);
  });
  Packet whole;
  // Its headroom belongs to the call.
  if (env.kernels.is_on_device(own.data()))
    whole = {const_cast<std::byte*>(own.data()), own.size()};
  if (!any && !whole.data) return held;
  for (size_t i = 0; i < transfers.size(); ++i)
    transfers[i] = {transfers[i].peer, whole, follows[i] ? kUnknownSize : 0, {}};
  env.call.exchange_each(transfers, [&](size_t i) {
    held[i + 1].message = transfers[i].in;
    on_message(transfers[i].peer, held[i + 1]);
  });
  return held;
}

/// From so many bytes on a message goes from its sender to each rank: what Bruck's rounds save in
/// messages they lose by waiting for each other, and by copying what they forward.
constexpr size_t kAtOnce = 4096;

/// By rank instead of by distance.
std::span<const GatheredMessage> turned(Env& env, std::span<const GatheredMessage> held) {
  const auto by_rank = env.arena.take_span<GatheredMessage>(held.size());
  for (size_t d = 0; d < held.size(); ++d)
    by_rank[(static_cast<size_t>(env.call.rank()) + d) % held.size()] = held[d];
  return by_rank;
}

}  // namespace

std::span<const GatheredMessage> allgather_messages(Env& env, const GatheredMessage& own,
                                                    size_t expected_bytes, OnMessage on_message) {
  if (!env.call.in_stream_order() && expected_bytes >= kAtOnce) {
    const auto all = turned(env, gather_at_once(env, own.message, own.number, on_message));
    on_message(env.call.rank(), own);
    return all;
  }
  const auto gather = env.call.in_stream_order() ? gather_directly : gather_by_bruck;
  const auto all = turned(env, gather(env, own.message, own.number));
  for (size_t r = 0; r < all.size(); ++r) on_message(static_cast<int>(r), all[r]);
  return all;
}

std::span<const GatheredMessage> allgather_messages(Env& env, const GatheredMessage& own,
                                                    size_t expected_bytes) {
  return allgather_messages(env, own, expected_bytes, [](int, const GatheredMessage&) {});
}

}  // namespace sparsecoll
