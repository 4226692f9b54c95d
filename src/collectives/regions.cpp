// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/regions.hpp"

#include <algorithm>

#include "kernels/wire.hpp"

namespace sparsecoll {

std::span<const Region> uniform_regions(Env& env, uint64_t count) {
  const auto ranks = static_cast<uint64_t>(env.call.size());
  const auto regions = env.arena.take_span<Region>(ranks);
  for (uint64_t r = 0; r < ranks; ++r)
    regions[r] = {border(count, ranks, r), border(count, ranks, r + 1)};
  return regions;
}

std::span<const Region> regions_between(Env& env, std::span<const uint64_t> cuts) {
  const auto regions = env.arena.take_span<Region>(cuts.size() - 1);
  for (size_t r = 0; r < regions.size(); ++r) regions[r] = {cuts[r], cuts[r + 1]};
  return regions;
}

std::span<const ConstBytes> exchange_regions(Env& env, const SparseSpan& in,
                                             std::span<const Region> regions) {
  const size_t ranks = regions.size();
  const auto rank = static_cast<size_t>(env.call.rank());
  const auto offset = env.arena.take_span<uint64_t>(2 * ranks);
  const auto size = offset.subspan(ranks);
  const Packets packets = env.kernels.packets(in.nnz.bound, regions);
  {
    const Stopwatch watch(env.stats.pack_seconds);
    env.kernels.pack_all(in, regions, packets);
    env.kernels.read(packets.offset, 2 * ranks, offset.data());
  }
  const auto legs = env.arena.take_span<Leg>(ranks - 1);
  for (size_t i = 1; i < ranks; ++i) {
    const size_t to = (rank + i) % ranks;
    legs[i - 1].peer = static_cast<int>(to);
    legs[i - 1].out = {packets.slab + offset[to], size[to], nullptr};
    legs[i - 1].in_bound = kUnknownSize;
  }
  env.call.exchange(legs);
  const auto received = env.arena.take_span<ConstBytes>(ranks);
  received[rank] = {packets.slab + offset[rank], size[rank]};
  for (const Leg& leg : legs) received[static_cast<size_t>(leg.peer)] = leg.in;
  return received;
}

ConstBytes pack_region(Env& env, const SparseSpan& in, const Region& region) {
  const Stopwatch watch(env.stats.pack_seconds);
  const Packets packet = env.kernels.packets(in.nnz.bound, {&region, 1});
  env.kernels.pack_all(in, {&region, 1}, packet);
  uint64_t place[2];  // offset and size
  env.kernels.read(packet.offset, 2, place);
  return {packet.slab + place[0], place[1]};
}

Pieces unpack_pieces(Env& env, std::span<const Message> messages) {
  const Stopwatch watch(env.stats.pack_seconds);
  const auto buffers = env.arena.take_span<SparseBuffer>(messages.size());
  Pieces pieces{env.arena.take_span<SparseSpan>(messages.size())};
  for (size_t r = 0; r < messages.size(); ++r) {
    const size_t entries =
        wire_entries(messages[r].bytes, env.kernels.data_type(), messages[r].region.length());
    buffers[r] = env.kernels.sparse(entries);
    pieces.spans[r] = buffers[r].span();
    pieces.entries += entries;
  }
  env.kernels.unpack_all(messages, buffers, env.fault);
  return pieces;
}

Share reduce_regions(Env& env, const SparseSpan& in, std::span<const Region> regions) {
  const Region mine = regions[static_cast<size_t>(env.call.rank())];
  const std::span<const ConstBytes> received = exchange_regions(env, in, regions);
  const auto messages = env.arena.take_span<Message>(received.size());
  for (size_t r = 0; r < received.size(); ++r) messages[r] = {received[r], mine};
  const Pieces pieces = unpack_pieces(env, messages);
  const Stopwatch watch(env.stats.reduce_seconds);
  const SparseBuffer sum = env.kernels.sparse(std::min<uint64_t>(pieces.entries, mine.length()));
  env.kernels.merge(pieces.spans, sum);
  return {sum.span(), pieces.entries};
}

}  // namespace sparsecoll
