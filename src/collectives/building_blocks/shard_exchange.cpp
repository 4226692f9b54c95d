// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/building_blocks/shard_exchange.hpp"

#include <algorithm>
#include <cstring>

#include "collectives/building_blocks/received_vectors.hpp"
#include "core/error.hpp"
#include "kernels/wire.hpp"

namespace sparsecoll {

namespace {

// Shards shorter than this are sent: reading takes two more messages, a request and an answer.
constexpr size_t kLeastRead = size_t{1} << 16;

/// One shard of the gradients of a node's ranks. Reads those of other ranks from their memory.
class OfferedShard final : public SummedVectors {
 public:
  /// `begin`: where the shard begins, in elements of `value` bytes. `position`: of this rank.
  OfferedShard(std::span<const MemoryOffer> offers, size_t position, const void* gradient,
               uint64_t begin, size_t value)
      : offers_(offers),
        position_(position),
        gradient_(static_cast<const std::byte*>(gradient)),
        begin_(begin),
        value_(value) {}

  size_t number() const override { return offers_.size(); }
  const void* read(size_t vector, size_t begin, size_t count, void* copy) override {
    const size_t at = (begin_ + begin) * value_;
    if (vector == position_) return gradient_ + at;
    const Bytes into(static_cast<std::byte*>(copy), count * value_);
    return read_offered(offers_[vector], at, into) ? copy : nullptr;
  }
  bool read_groups(size_t vector, std::span<const size_t> begins, size_t count,
                   void* copy) override {
    auto* const to = static_cast<std::byte*>(copy);
    const size_t bytes = count * value_;
    if (vector == position_) {
      for (size_t g = 0; g < begins.size(); ++g)
        std::memcpy(to + g * bytes, gradient_ + (begin_ + begins[g]) * value_, bytes);
      return true;
    }
    MemoryOffer shard = offers_[vector];
    shard.address += begin_ * value_;
    return read_offered(shard, begins, count, value_, to);
  }

 private:
  const std::span<const MemoryOffer> offers_;
  const size_t position_;
  const std::byte* const gradient_;
  const uint64_t begin_;
  const size_t value_;
};

}  // namespace

ShardExchange::ShardExchange(Env& env, const Problem& problem)
    : env_(env),
      shards_(*problem.topology, problem.count),
      ranks_(problem.topology->ranks_of(problem.topology->node_of(env.call.rank()))),
      position_(position_of(env.call.rank())),
      k_(problem.k) {}

std::span<const SparseSpan> ShardExchange::exchange_shards(
    const void* gradient, uint64_t count, FunctionRef<bool(SummedVectors&)> select) {
  if (ranks_.size() == 1) return {};
  if (reduces_in_node(count)) return reduce_in_node(gradient);
  const auto taken = env_.arena.take_span<bool>(ranks_.size());
  const ReadShard own = reads_shards(count) ? read_shards(gradient, select, taken) : ReadShard{};
  const bool receives = owns() && !own.was_read();
  bool sends = false;
  for (size_t peer = 0; peer < owners(); ++peer)
    sends = sends || (peer != position_ && !taken[peer]);
  SparseSpan all;
  if (receives || sends) all = env_.kernels.widened({nullptr, gradient, counted(count)}).stored();
  const auto transfers = transfers_of({});
  size_t used = 0;
  for (size_t i = 0; i < transfers.size(); ++i) {
    const size_t peer = position_of(transfers[i].peer);
    Transfer& transfer = transfers[used];
    transfer = transfers[i];
    if (peer < owners() && !taken[peer]) transfer.out = pack(all, region(peer), dense_bytes(peer));
    if (receives) transfer.in_bound = dense_bytes(position_);
    if (transfer.out.data || receives) ++used;
  }
  env_.call.exchange(transfers.first(used));
  if (own.sum.value) return env_.arena.take_span<SparseSpan>(1, own.sum);
  if (!receives) return {};
  const size_t value = size_of(accumulation(env_.kernels.data_type()));
  const auto vectors = env_.arena.take_span<SparseSpan>(ranks_.size());
  vectors[position_] = {nullptr,
                        static_cast<const std::byte*>(all.value) + region(position_).begin * value,
                        counted(region(position_).length())};
  unpack_dense(transfers.first(used), vectors);
  return vectors;
}

bool ShardExchange::reduces_in_node(uint64_t count) const {
  const DataType type = env_.kernels.data_type();
  return env_.call.can_reduce_in_node() && accumulation(type) == type && !has_others() &&
         count % owners() == 0;
}

std::span<const SparseSpan> ShardExchange::reduce_in_node(const void* gradient) {
  const DataType type = env_.kernels.data_type();
  const uint64_t length = region(position_).length();
  void* const sum = env_.kernels.bytes(length * size_of(type));
  env_.call.reduce_scatter_in_node(gradient, owners(), length, type, sum);
  return env_.arena.take_span<SparseSpan>(1, {nullptr, sum, counted(length)});
}

bool ShardExchange::reads_shards(uint64_t count) const {
  const size_t bytes = count / owners() * size_of(env_.kernels.data_type());
  return env_.call.can_read_peers() && bytes >= kLeastRead;
}

ShardExchange::ReadShard ShardExchange::read_shards(const void* gradient,
                                                    FunctionRef<bool(SummedVectors&)> select,
                                                    std::span<bool> taken) {
  const OfferedMemory memory(gradient);
  const auto offers = env_.arena.take_span<MemoryOffer>(ranks_.size());
  if (env_.kernels.is_synchronous()) offers[position_] = memory.offer();
  const ConstBytes own = std::as_bytes(offers.subspan(position_, 1));
  for (const Transfer& transfer :
       exchange_bytes([&](size_t to) { return to < owners() ? own : ConstBytes{}; },
                      [&](size_t) { return owns() ? sizeof(MemoryOffer) : size_t{0}; }))
    if (transfer.in_bound > 0)
      std::memcpy(&offers[position_of(transfer.peer)], transfer.in.data(), sizeof(MemoryOffer));
  ReadShard shard;
  if (owns() && env_.kernels.is_synchronous()) shard = read_offered_shard(gradient, offers, select);
  // Each owner answers 1 if it has read the shard, or 0 if the shard has to be sent.
  const std::byte answer{shard.was_read() ? uint8_t{1} : uint8_t{0}};
  for (const Transfer& transfer :
       exchange_bytes([&](size_t) { return owns() ? ConstBytes(&answer, 1) : ConstBytes{}; },
                      [&](size_t from) { return from < owners() ? size_t{1} : size_t{0}; }))
    if (transfer.in_bound > 0) taken[position_of(transfer.peer)] = transfer.in[0] == std::byte{1};
  return shard;
}

ShardExchange::ReadShard ShardExchange::read_offered_shard(
    const void* gradient, std::span<const MemoryOffer> offers,
    FunctionRef<bool(SummedVectors&)> select) {
  Kernels& kernels = env_.kernels;
  const Region& shard = region(position_);
  OfferedShard vectors(offers, position_, gradient, shard.begin, size_of(kernels.data_type()));
  if (select(vectors)) return {true, {}};
  const Stopwatch watch(env_.stats, Phase::reduce);
  void* const sum = kernels.bytes(shard.length() * size_of(accumulation(kernels.data_type())));
  if (!kernels.add_vectors(vectors, shard.length(), sum)) return {};
  return {false, {nullptr, sum, counted(shard.length())}};
}

std::span<const Transfer> ShardExchange::exchange_bytes(
    FunctionRef<ConstBytes(size_t position)> out, FunctionRef<size_t(size_t position)> in) {
  const auto transfers = transfers_of({});
  for (Transfer& transfer : transfers) {
    const size_t peer = position_of(transfer.peer);
    transfer.message_memory = MessageMemory::host;
    transfer.in_bound = in(peer);
    const ConstBytes bytes = out(peer);
    if (bytes.empty()) continue;
    std::byte* const packet = packet_memory(env_, bytes.size());
    std::copy(bytes.begin(), bytes.end(), packet);
    transfer.out = {packet, bytes.size(), nullptr, bytes.size()};
  }
  env_.call.exchange(transfers);
  for (const Transfer& transfer : transfers)
    if (transfer.in_bound > 0 && transfer.in.size() != transfer.in_bound)
      fail(sparsecollRemoteError, "rank ", transfer.peer, " sent ", transfer.in.size(),
           " bytes, expected ", transfer.in_bound);
  return transfers;
}

SparseSpan ShardExchange::exchange_results(const SparseSpan& own) {
  const Precision precision = env_.joined_precision();
  const auto bound = [&](size_t shard) {
    return env_.kernels.message_bound(quota(shard), region(shard).length(), precision);
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
  const ConstBytes bytes = std::as_bytes(std::span(&own, 1));
  const auto transfers =
      exchange_bytes([&](size_t) { return owns() ? bytes : ConstBytes{}; },
                     [&](size_t from) { return from < owners() ? sizeof own : size_t{0}; });
  const auto numbers = env_.arena.take_span<uint64_t>(owners(), own);
  for (const Transfer& transfer : transfers)
    if (transfer.in_bound > 0)
      std::memcpy(&numbers[position_of(transfer.peer)], transfer.in.data(), sizeof own);
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
