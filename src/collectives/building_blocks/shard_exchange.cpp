// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/building_blocks/shard_exchange.hpp"

#include <algorithm>
#include <cstring>

#include "collectives/building_blocks/received_vectors.hpp"
#include "core/error.hpp"
#include "kernels/wire.hpp"

namespace sparsecoll {

ShardExchange::ShardExchange(Env& env, const Problem& problem)
    : env_(env),
      shards_(*problem.topology, problem.count),
      ranks_(problem.topology->ranks_of(problem.topology->node_of(env.call.rank()))),
      position_(position_of(env.call.rank())),
      k_(problem.k) {}

std::span<const SparseSpan> ShardExchange::exchange_shards(const void* gradient, uint64_t count) {
  SparseSpan all;
  if (ranks_.size() > 1) all = env_.kernels.widened({nullptr, gradient, counted(count)}).stored();
  const auto transfers = env_.arena.take_span<Transfer>(ranks_.size() - 1);
  size_t used = 0;
  for (size_t i = 1; i < ranks_.size(); ++i) {
    const size_t to = (position_ + i) % ranks_.size();
    Transfer& transfer = transfers[used];
    transfer.peer = ranks_[to];
    if (to < owners()) transfer.out = pack(all, region(to), dense_bytes(to));
    if (owns()) transfer.in_bound = dense_bytes(position_);
    if (transfer.out.data || owns()) ++used;
  }
  env_.call.exchange(transfers.first(used));
  if (!owns() || ranks_.size() == 1) return {};
  const size_t value = size_of(accumulation(env_.kernels.data_type()));
  const auto vectors = env_.arena.take_span<SparseSpan>(ranks_.size());
  vectors[position_] = {nullptr,
                        static_cast<const std::byte*>(all.value) + region(position_).begin * value,
                        counted(region(position_).length())};
  unpack_dense(transfers.first(used), vectors);
  return vectors;
}

SparseSpan ShardExchange::exchange_results(const SparseSpan& own) {
  const Precision precision = env_.rounds() ? Precision::bfloat16 : Precision::accumulated;
  const auto bound = [&](size_t shard) {
    return wire_bound(
        {quota(shard), region(shard).length(), env_.kernels.wire_value_size(precision)});
  };
  Packet packet;
  if (owns()) packet = pack(own, {0, region(position_).length()}, bound(position_));
  const auto transfers = transfers_of(packet);
  for (Transfer& transfer : transfers)
    if (const size_t from = position_of(transfer.peer); from < owners())
      transfer.in_bound = bound(from);
  env_.call.exchange(transfers);
  const auto messages = env_.arena.take_span<Message>(owners());
  for (const Transfer& transfer : transfers)
    if (transfer.in_bound > 0) messages[position_of(transfer.peer)].bytes = transfer.in;
  if (owns()) messages[position_].bytes = {packet.data, env_.kernels.read(packet.used)};
  for (size_t s = 0; s < owners(); ++s) messages[s].region = region(s);
  const ReceivedVectors parts = unpack_vectors(env_, messages);
  const Stopwatch watch(env_.stats, Phase::reduce);
  const SparseBuffer result = env_.kernels.sparse(parts.entries);
  env_.kernels.concatenate(parts.spans, result);
  return result.span().known(precision);
}

std::span<const uint64_t> ShardExchange::exchange_numbers(uint64_t own) {
  std::byte* const packet = packet_memory(env_, sizeof own);
  std::memcpy(packet, &own, sizeof own);
  const auto transfers =
      transfers_of(owns() ? Packet{packet, sizeof own, nullptr, sizeof own} : Packet{});
  for (Transfer& transfer : transfers) {
    transfer.message_memory = MessageMemory::host;
    if (position_of(transfer.peer) < owners()) transfer.in_bound = sizeof own;
  }
  env_.call.exchange(transfers);
  const auto numbers = env_.arena.take_span<uint64_t>(owners(), own);
  for (const Transfer& transfer : transfers) {
    if (transfer.in_bound == 0) continue;
    if (transfer.in.size() != sizeof own)
      fail(sparsecollRemoteError, "rank ", transfer.peer, " sent ", transfer.in.size(),
           " bytes, expected ", sizeof own);
    std::memcpy(&numbers[position_of(transfer.peer)], transfer.in.data(), sizeof own);
  }
  return numbers;
}

Count ShardExchange::counted(uint64_t count) {
  uint64_t* const at = env_.kernels.counts(1);
  env_.kernels.set_count(at, count);
  return {count, at};
}

size_t ShardExchange::dense_bytes(size_t shard) const {
  const uint64_t length = region(shard).length();
  return wire_bytes(Representation::dense,
                    {length, length, env_.kernels.wire_value_size(Precision::stored)});
}

Packet ShardExchange::pack(const SparseSpan& in, const Region& region, size_t agreed_bytes) {
  const Stopwatch watch(env_.stats, Phase::pack);
  const size_t entries = in.index ? in.nnz.bound : region.length();
  const Packets packets = env_.kernels.packets(entries, {&region, 1}, in.precision);
  env_.kernels.pack_all(in, {&region, 1}, packets);
  // One message starts right behind its headroom.
  return {packets.slab + kHeadroom, packets.capacity - kHeadroom, packets.size, agreed_bytes};
}

void ShardExchange::unpack_dense(std::span<const Transfer> transfers,
                                 std::span<SparseSpan> vectors) {
  if (transfers.empty()) return;
  Kernels& kernels = env_.kernels;
  const Stopwatch watch(env_.stats, Phase::pack);
  const uint64_t length = region(position_).length();
  const auto messages = env_.arena.take_span<Message>(transfers.size());
  const auto entries = env_.arena.take_span<size_t>(transfers.size());
  const auto buffers = env_.arena.take_span<SparseBuffer>(transfers.size());
  for (size_t i = 0; i < transfers.size(); ++i) messages[i] = {transfers[i].in, region(position_)};
  if (kernels.is_synchronous()) kernels.count_entries(messages, entries.data());
  for (size_t i = 0; i < transfers.size(); ++i) {
    // A message that lacks entries is malformed. It is found when it is unpacked.
    const bool whole = kernels.is_synchronous() && entries[i] == length;
    const void* const there = whole ? kernels.values_in(messages[i]) : nullptr;
    void* const here =
        there ? nullptr : kernels.bytes(length * size_of(accumulation(kernels.data_type())));
    buffers[i] = {nullptr, here, kernels.counts(1), length};
    vectors[position_of(transfers[i].peer)] = {
        nullptr, there ? there : here, {length, buffers[i].nnz}};
  }
  kernels.unpack_all(messages, buffers, env_.fault);
}

std::span<Transfer> ShardExchange::transfers_of(const Packet& packet) {
  const auto transfers = env_.arena.take_span<Transfer>(ranks_.size() - 1);
  for (size_t i = 1; i < ranks_.size(); ++i) {
    transfers[i - 1].peer = ranks_[(position_ + i) % ranks_.size()];
    transfers[i - 1].out = packet;
  }
  return transfers;
}

size_t ShardExchange::position_of(int rank) const {
  return static_cast<size_t>(std::ranges::find(ranks_, rank) - ranks_.begin());
}

}  // namespace sparsecoll
