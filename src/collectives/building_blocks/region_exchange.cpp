// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/building_blocks/region_exchange.hpp"

#include "collectives/building_blocks/allgather_messages.hpp"
#include "collectives/building_blocks/plain_messages.hpp"

namespace sparsecoll {

OwnVector exchange_regions(Env& env, const SparseSpan& in, std::span<const Region> regions,
                           FunctionRef<void(int source, ConstBytes message)> on_message) {
  const size_t ranks = regions.size();
  const auto rank = static_cast<size_t>(env.call.rank());
  const auto peer = [&](size_t i) { return (rank + 1 + i) % ranks; };
  OwnVector own{env.kernels.slice(in, regions[rank]), {}};
  // Regions are packed in the order of sending, so that the first message can be sent first. If
  // this rank's own region is packed, it is the last.
  const size_t packed = own.entries ? ranks - 1 : ranks;
  const auto sent = env.arena.take_span<Region>(packed);
  for (size_t i = 0; i < packed; ++i) sent[i] = regions[peer(i)];
  const auto offset = env.arena.take_span<uint64_t>(2 * packed);
  const auto size = offset.subspan(packed);
  const auto plain = env.arena.take_span<bool>(packed);  // a rank's own region is never plain
  for (size_t i = 0; i < ranks - 1; ++i)
    plain[i] = plain_is_fastest(env, static_cast<int>(peer(i)));
  const Packets packets = env.kernels.packets(in.nnz.bound, sent, in.precision, plain.data());
  {
    const Stopwatch watch(env.stats, Phase::pack);
    env.kernels.pack_all(in, sent, packets);
    env.kernels.read(packets.offset, offset.size(), offset.data());
  }
  const auto transfers = env.arena.take_span<Transfer>(ranks - 1);
  for (size_t i = 0; i < ranks - 1; ++i) {
    transfers[i].peer = static_cast<int>(peer(i));
    transfers[i].out = {packets.slab + offset[i], size[i], nullptr};
    transfers[i].in_bound = kUnknownSize;
  }
  env.call.exchange_each(transfers,
                         [&](size_t i) { on_message(transfers[i].peer, transfers[i].in); });
  if (!own.entries) own.message = {packets.slab + offset[ranks - 1], size[ranks - 1]};
  return own;
}

ReceivedVectors exchange_vectors(Env& env, const SparseSpan& in, std::span<const Region> regions) {
  const auto rank = static_cast<size_t>(env.call.rank());
  MessageUnpacker unpacker(env, regions.size());
  const auto read = [&](int source, ConstBytes message) {
    unpacker.add(static_cast<size_t>(source), {message, regions[rank]});
  };
  const OwnVector own = exchange_regions(env, in, regions, read);
  if (own.entries)
    unpacker.set(rank, *own.entries);
  else
    read(env.call.rank(), own.message);
  return unpacker.finish();
}

Bytes pack_region(Env& env, const SparseSpan& in, const Region& region, bool to_all) {
  const Stopwatch watch(env.stats, Phase::pack);
  const bool plain = to_all && plain_is_fastest_to_all(env);
  const Packets packet =
      env.kernels.packets(in.nnz.bound, {&region, 1}, in.precision, plain ? &plain : nullptr);
  env.kernels.pack_all(in, {&region, 1}, packet);
  uint64_t extent[2];  // offset and size
  env.kernels.read(packet.offset, 2, extent);
  const Bytes message{packet.slab + extent[0], extent[1]};
  env.kernels.wait_packed(message.data() + message.size());  // the caller copies the message
  return message;
}

SparseSpan survivors(Env& env, const SparseSpan& in, const Threshold& threshold) {
  const Stopwatch watch(env.stats, Phase::reduce);
  const SparseBuffer kept = env.kernels.sparse(in.nnz.bound);
  env.kernels.select_above(in, threshold, kept);
  return kept.span().known(in.precision);
}

RegionSum::RegionSum(Env& env, const SparseSpan& in, std::span<const Region> regions)
    : RegionSum(env, exchange_vectors(env, in, regions),
                regions[static_cast<size_t>(env.call.rank())].length()) {}

SparseSpan RegionSum::add() {
  const Stopwatch watch(env_.stats, Phase::reduce);
  const SparseBuffer sum = sum_buffer();
  env_.kernels.merge(received_.spans, sum);
  return sum.span();
}

const Rounded& RegionSum::rounded() {
  if (!rounded_) rounded_ = round_for_wire(env_, add());
  return *rounded_;
}

SparseSpan RegionSum::reaching(uint64_t key) {
  if (env_.rounds()) return survivors(env_, rounded().values, {key - 1, 0});
  const Stopwatch watch(env_.stats, Phase::reduce);
  const SparseBuffer kept = sum_buffer();
  env_.kernels.merge_above(received_.spans, key, kept);
  return kept.span();
}

GatheredVector gather_regions(Env& env, const Contribution& part, std::span<const Region> regions) {
  const auto rank = static_cast<size_t>(env.call.rank());
  const ConstBytes message = pack_region(env, part.entries, regions[rank], true);
  const size_t expected_bytes =
      part.expected_entries * env.kernels.wire_value_size(part.entries.precision);
  MessageUnpacker unpacker(env, regions.size());
  const auto own = env.kernels.slice(part.entries, regions[rank]);
  if (own) unpacker.set(rank, *own);
  const auto add_message = [&](int source, const GatheredMessage& received) {
    const auto r = static_cast<size_t>(source);
    if (!own || r != rank) unpacker.add(r, {received.message, regions[r]});
  };
  const auto all = allgather_messages(env, {message, part.number}, expected_bytes, add_message);
  const auto numbers = env.arena.take_span<uint64_t>(all.size());
  std::ranges::transform(all, numbers.begin(), &GatheredMessage::number);
  const ReceivedVectors vectors = unpacker.finish();
  const Stopwatch watch(env.stats, Phase::reduce);
  const SparseBuffer entries = env.kernels.sparse(vectors.entries);
  env.kernels.concatenate(vectors.spans, entries);
  return {entries, numbers};
}

}  // namespace sparsecoll
