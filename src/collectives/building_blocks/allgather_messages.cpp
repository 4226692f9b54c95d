// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Allgather of messages of any size, for every P. Each rank receives each message once.
//
// Short messages: Bruck et al., Efficient Algorithms for All-to-All Communications in Multiport
// Message-Passing Systems (IEEE TPDS 1997), in ceil(log2 P) rounds.
// Long messages: each rank sends its message directly to all others, P - 1 messages that are under
// way at the same time. A message in device memory needs P - 1 short messages more, for its size.
#include "collectives/building_blocks/allgather_messages.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/error.hpp"

namespace sparsecoll {

namespace {

using OnMessage = FunctionRef<void(int rank, const GatheredMessage& received)>;

/// The header of a block. A message of the allgather is a sequence of blocks, each of which is a
/// header and the bytes of one rank's message, padded to a multiple of 8.
struct BlockHeader {
  uint64_t bytes;
  uint64_t number;
};
/// BlockHeader::bytes has this value if the bytes are in device memory and follow in a message of
/// their own.
constexpr uint64_t kSentSeparately = kAll;

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

/// Returns the message in host memory, from which it can be forwarded. Copies it from a device.
ConstBytes on_host(Env& env, ConstBytes message) {
  if (!env.kernels.is_on_device(message.data())) return message;
  const auto copy = env.arena.take_span<std::byte>(message.size());
  env.kernels.download(message.data(), copy);
  return copy;
}

// Bruck's algorithm. Before round t rank r holds the messages of ranks r .. r + 2^t - 1. It sends
// to rank r - 2^t those that this rank lacks, and receives the next ones from r + 2^t. There are
// ceil(log2 P) rounds. The result is ordered by the distance of the sender from this rank.
std::span<const GatheredMessage> gather_by_bruck(Env& env, ConstBytes own, uint64_t number) {
  const int ranks = env.call.size(), rank = env.call.rank();
  const auto held = env.arena.take_span<GatheredMessage>(static_cast<size_t>(ranks));
  held[0] = {on_host(env, own), number};
  for (int have = 1; have < ranks; have *= 2) {
    const int more = std::min(have, ranks - have);
    const auto sent = held.first(static_cast<size_t>(more));
    const size_t bytes = blocks_size(sent);
    std::byte* packet_bytes = packet_memory(env, bytes);
    std::byte* at = packet_bytes;
    for (const GatheredMessage& each : sent) put_block(each, at);
    Transfer transfers[2];
    transfers[0] = {
        (rank - have + ranks) % ranks, {packet_bytes, bytes, nullptr}, 0, {}, MessageMemory::host};
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

/// The size of a message, and the number that is sent with it.
using Size = std::array<uint64_t, 2>;

// Gathers the sizes with Bruck's algorithm. A size has the same bytes on all ranks, and needs no
// header. The result is ordered by distance.
std::span<const Size> gather_sizes(Env& env, const Size& own) {
  const int ranks = env.call.size(), rank = env.call.rank();
  const auto held = env.arena.take_span<Size>(static_cast<size_t>(ranks));
  held[0] = own;
  for (int have = 1; have < ranks; have *= 2) {
    const auto more = static_cast<size_t>(std::min(have, ranks - have));
    const size_t bytes = more * sizeof(Size);
    std::byte* packet_bytes = packet_memory(env, bytes);
    std::memcpy(packet_bytes, held.data(), bytes);
    Transfer transfers[2];
    transfers[0] = {(rank - have + ranks) % ranks,
                    {packet_bytes, bytes, nullptr, bytes},
                    0,
                    {},
                    MessageMemory::host};
    transfers[1] = {(rank + have) % ranks, {}, bytes, {}, MessageMemory::host};
    env.call.exchange(transfers);
    std::memcpy(&held[static_cast<size_t>(have)], transfers[1].in.data(), bytes);
  }
  return held;
}

// Gathers in stream order, where the host would have to wait for each message to forward it. So the
// ranks gather the sizes first, and then send their messages directly to all others in one
// exchange. The result is ordered by distance.
std::span<const GatheredMessage> gather_in_stream_order(Env& env, ConstBytes own, uint64_t number) {
  const int ranks = env.call.size(), rank = env.call.rank();
  const std::span<const Size> sizes = gather_sizes(env, {own.size(), number});
  const auto held = env.arena.take_span<GatheredMessage>(sizes.size());
  const auto transfers = env.arena.take_span<Transfer>(sizes.size() - 1);
  held[0] = {own, number};
  // The call may write its header into the headroom of the message.
  const Packet packet{const_cast<std::byte*>(own.data()), own.size(), nullptr, own.size()};
  for (size_t d = 1; d < sizes.size(); ++d) {
    // One transfer sends to this peer and receives from it.
    transfers[d - 1] = {(rank + static_cast<int>(d)) % ranks, packet, sizes[d][0], {}};
    if (own.empty()) transfers[d - 1].out = {};
  }
  env.call.exchange(transfers);
  for (size_t d = 1; d < sizes.size(); ++d) held[d] = {transfers[d - 1].in, sizes[d][1]};
  return held;
}

/// A message with one block. If `separate`, its bytes follow in a message of their own.
struct DirectBlock {
  GatheredMessage block;
  bool separate;
};

DirectBlock unpack_direct(ConstBytes in, int sender) {
  BlockHeader header;
  if (in.size() == sizeof header) {
    std::memcpy(&header, in.data(), sizeof header);
    if (header.bytes == kSentSeparately) return {{{}, header.number}, true};
  }
  const GatheredMessage block = get_block(in, sender);
  if (!in.empty()) fail(sparsecollRemoteError, "rank ", sender, " sent too many blocks");
  return {block, false};
}

Packet pack_direct(Env& env, const GatheredMessage& block) {
  const bool on_device = env.kernels.is_on_device(block.message.data());
  const size_t bytes = on_device ? sizeof(BlockHeader) : blocks_size({&block, 1});
  std::byte* const packet_bytes = packet_memory(env, bytes);
  const BlockHeader header{kSentSeparately, block.number};
  std::byte* at = packet_bytes;
  if (on_device)
    std::memcpy(at, &header, sizeof header);
  else
    put_block(block, at);
  return {packet_bytes, bytes};
}

// Gathers messages that the host receives, which needs no sizes in advance. Destinations rotate.
// Messages in device memory follow in a second exchange; a rank that neither sends nor receives one
// leaves it out. The result is ordered by distance.
std::span<const GatheredMessage> gather_directly(Env& env, ConstBytes own, uint64_t number,
                                                 OnMessage on_message) {
  const int ranks = env.call.size(), rank = env.call.rank();
  const auto held = env.arena.take_span<GatheredMessage>(static_cast<size_t>(ranks));
  held[0] = {own, number};
  const auto transfers = env.arena.take_span<Transfer>(held.size() - 1);
  const auto separate = env.arena.take_span<bool>(transfers.size());
  const Packet packet = transfers.empty() ? Packet{} : pack_direct(env, held[0]);
  for (size_t d = 1; d < held.size(); ++d)
    transfers[d - 1] = {
        (rank + static_cast<int>(d)) % ranks, packet, kUnknownSize, {}, MessageMemory::host};
  bool any_separate = false;
  env.call.exchange_each(transfers, [&](size_t i) {
    const int peer = transfers[i].peer;
    const DirectBlock direct = unpack_direct(transfers[i].in, env.call.communicator_rank(peer));
    held[i + 1] = direct.block;
    separate[i] = direct.separate;
    any_separate = any_separate || direct.separate;
    if (!direct.separate) on_message(peer, direct.block);
  });
  Packet device_packet;
  // The call may write its header into the headroom of the message.
  if (env.kernels.is_on_device(own.data()))
    device_packet = {const_cast<std::byte*>(own.data()), own.size()};
  if (!any_separate && !device_packet.data) return held;
  for (size_t i = 0; i < transfers.size(); ++i)
    transfers[i] = {transfers[i].peer, device_packet, separate[i] ? kUnknownSize : 0, {}};
  env.call.exchange_each(transfers, [&](size_t i) {
    held[i + 1].message = transfers[i].in;
    on_message(transfers[i].peer, held[i + 1]);
  });
  return held;
}

/// The size from which messages are sent directly. Bruck's algorithm sends fewer messages, but its
/// rounds wait for each other and copy what they forward.
constexpr size_t kDirectBytes = 4096;

/// Returns the messages ordered by rank. `held` is ordered by distance.
std::span<const GatheredMessage> ordered_by_rank(Env& env, std::span<const GatheredMessage> held) {
  const auto by_rank = env.arena.take_span<GatheredMessage>(held.size());
  for (size_t d = 0; d < held.size(); ++d)
    by_rank[(static_cast<size_t>(env.call.rank()) + d) % held.size()] = held[d];
  return by_rank;
}

}  // namespace

std::span<const GatheredMessage> allgather_messages(Env& env, const GatheredMessage& own,
                                                    size_t expected_bytes, OnMessage on_message) {
  if (!env.call.in_stream_order() && expected_bytes >= kDirectBytes) {
    const auto all =
        ordered_by_rank(env, gather_directly(env, own.message, own.number, on_message));
    on_message(env.call.rank(), own);
    return all;
  }
  const auto gather = env.call.in_stream_order() ? gather_in_stream_order : gather_by_bruck;
  const auto all = ordered_by_rank(env, gather(env, own.message, own.number));
  for (size_t r = 0; r < all.size(); ++r) on_message(static_cast<int>(r), all[r]);
  return all;
}

std::span<const GatheredMessage> allgather_messages(Env& env, const GatheredMessage& own,
                                                    size_t expected_bytes) {
  return allgather_messages(env, own, expected_bytes, [](int, const GatheredMessage&) {});
}

}  // namespace sparsecoll
