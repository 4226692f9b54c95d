// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// TopkA2A (Peng, Li, Shi, Li, Sparse Gradient Communication with AlltoAll for Accelerating
// Distributed Deep Learning, ICPP 2024; Z. Li, MPhil thesis, HKUST 2024), with exact selection.
//
//   1. Shards. Rank j owns shard j = [j m, (j + 1) m) of the n values, m = ceil(n / P). Every rank
//      selects the floor(k (j + 1) / P) - floor(k j / P) largest entries of each shard of its acc:
//      the quotas add up to k.
//   2. All-to-all. Send each shard's selection to its owner; destinations rotate. Both sides know
//      a bound of each message's size, so that sizes need no exchange.
//   3. The owner adds the P vectors in rank order. (Over a wire that rounds it rounds the sums.)
//   4. Allgather the sums, whose sizes vary, in the smallest of the wire's representations. A full
//      shard is sent as dense values without indices.
//
// There is no second selection: the result is the sum of all selections, up to P k entries.
//
// Cost per rank: P - 1 messages in step 2, ceil(log2 P) in step 4; k (P - 1) / P entries sent in
// step 2, at most min(P k, n) (P - 1) / P in step 4: (2 k + n) (P - 1) / P words at worst. Counted
// in words, it sends less than an allgather of selections if k / n > 1 / (2 (P - 1)), and less than
// a dense ring if k / n < 1 / 2. It is a method for high densities.
//
// Predicted: reduce_and_gather_seconds() of e and min(P e, n) entries, by cost_model.hpp.
//
// Guarantees: the sum of the selections in rank order, the same bits on every rank and in every
// run.
#include <algorithm>

#include "collectives/building_blocks/region_exchange.hpp"
#include "collectives/building_blocks/regions.hpp"
#include "collectives/building_blocks/selection.hpp"
#include "collectives/interface/algorithm.hpp"
#include "collectives/network/cost_model.hpp"
#include "kernels/wire.hpp"

namespace sparsecoll {

namespace {

/// A part of the vector whose k largest entries are selected.
struct Shard {
  Region region;
  size_t k = 0;
};

// --- step 1

/// Returns one shard for each rank.
std::span<const Shard> shards_of(Env& env, uint64_t count, size_t k) {
  const auto ranks = static_cast<uint64_t>(env.call.size());
  const uint64_t length = count / ranks + (count % ranks != 0);
  const auto shards = env.arena.take_span<Shard>(ranks);
  for (uint64_t j = 0; j < ranks; ++j) {
    shards[j].region = {std::min(j * length, count), std::min((j + 1) * length, count)};
    // The last shards may be shorter than their quota, or empty.
    shards[j].k = std::min(even_boundary(k, ranks, j + 1) - even_boundary(k, ranks, j),
                           shards[j].region.length());
  }
  return shards;
}

/// Returns the gradient and its residual in one region.
Gradient part_of(const Gradient& gradient, const Region& region, DataType type) {
  const size_t value = size_of(type), accumulated = size_of(accumulation(type));
  Gradient part{
      static_cast<const std::byte*>(gradient.values) + region.begin * value, region.length(), {}};
  if (gradient.residual.write)
    part.residual = {
        static_cast<const std::byte*>(gradient.residual.read) + region.begin * accumulated,
        static_cast<std::byte*>(gradient.residual.write) + region.begin * accumulated};
  return part;
}

Selected select(Env& env, const Gradient& gradient, Problem& problem, ShapeCache&) {
  const Stopwatch watch(env.stats, Phase::select);
  const std::span<const Shard> shards = shards_of(env, problem.count, problem.k);
  const auto selected = env.arena.take_span<SparseSpan>(shards.size());
  const auto lost = env.arena.take_span<SparseSpan>(shards.size());
  for (size_t j = 0; j < shards.size(); ++j) {
    const SparseBuffer out = env.kernels.sparse(shards[j].k);
    env.kernels.accumulate_select(part_of(gradient, shards[j].region, env.kernels.data_type()),
                                  shards[j].k, out);
    const Rounded sent = round_for_wire(env, out.span().stored());
    selected[j] = sent.values;
    lost[j] = sent.lost;
  }
  problem.shards = selected;
  return {lost};
}

// All selected entries were delivered, except for rounding errors.
void put_back(Env& env, const Delivery& delivery) {
  const Gradient& gradient = delivery.gradient;
  if (!gradient.residual.write) return;
  const auto shards = shards_of(env, delivery.problem.count, delivery.problem.k);
  for (size_t j = 0; j < shards.size(); ++j)
    add_lost(env.kernels, delivery.selected.lost[j],
             part_of(gradient, shards[j].region, env.kernels.data_type()).residual.write);
  add_lost(env.kernels, delivery.outcome.dropped, gradient.residual.write);
}

// --- step 2

/// Sends each shard's selection to its owner. Returns the messages of all ranks for this rank's
/// shard, by source.
std::span<const Message> exchange_shards(Env& env, const Problem& problem,
                                         std::span<const Shard> shards) {
  const size_t ranks = shards.size();
  const auto rank = static_cast<size_t>(env.call.rank());
  const auto bound = [&](const Shard& shard) {
    return env.kernels.message_bound(shard.k, shard.region.length(), problem.shards[0].precision);
  };
  // In messages, as in the shards' selections, indices count from the start of the shard.
  const auto pack = [&](size_t j) {
    const Stopwatch watch(env.stats, Phase::pack);
    const Region all_indices{0, shards[j].region.length()};
    const SparseSpan& in = problem.shards[j];
    const Packets packets = env.kernels.packets(in.nnz.bound, {&all_indices, 1}, in.precision);
    env.kernels.pack_all(in, {&all_indices, 1}, packets);
    // One message starts right behind its headroom.
    return Packet{packets.slab + kHeadroom, packets.capacity - kHeadroom, packets.size,
                  bound(shards[j])};
  };
  const auto transfers = env.arena.take_span<Transfer>(ranks - 1);
  for (size_t i = 1; i < ranks; ++i) {
    const size_t to = (rank + i) % ranks;
    transfers[i - 1] = {static_cast<int>(to), pack(to), bound(shards[rank]), {}};
  }
  env.call.exchange(transfers);
  const auto messages = env.arena.take_span<Message>(ranks);
  const Packet own = pack(rank);
  messages[rank].bytes = {own.data, env.kernels.read(own.used)};
  for (const Transfer& transfer : transfers)
    messages[static_cast<size_t>(transfer.peer)].bytes = transfer.in;
  const Region& own_shard = shards[rank].region;
  for (Message& each : messages) each = {each.bytes, own_shard, own_shard.begin};
  return messages;
}

Outcome run(Env& env, const Problem& problem, ShapeCache&) {
  Kernels& kernels = env.kernels;
  // 1.
  const std::span<const Shard> shards = shards_of(env, problem.count, problem.k);
  const Region mine = shards[static_cast<size_t>(env.call.rank())].region;
  // 2.
  const ReceivedVectors vectors = unpack_vectors(env, exchange_shards(env, problem, shards));
  // 3.
  const SparseBuffer sum = kernels.sparse(std::min<uint64_t>(vectors.entries, mine.length()));
  {
    const Stopwatch watch(env.stats, Phase::reduce);
    kernels.merge(vectors.spans, sum);
  }
  const Rounded part = round_for_wire(env, sum.span());
  // 4.
  const auto regions = env.arena.take_span<Region>(shards.size());
  for (size_t j = 0; j < shards.size(); ++j) regions[j] = shards[j].region;
  const GatheredVector gathered =
      gather_regions(env, {part.values, 0, problem.k / shards.size()}, regions);
  return {gathered.entries.span(), part.lost};
}

double seconds(const ProblemSize& size, const Network& network) {
  const EntryCounts entries = entry_counts(size);
  return reduce_and_gather_seconds(entries.own, entries.unpruned, size, network);
}

}  // namespace

extern constinit const Algorithm kTopkA2A{
    .id = AlgorithmId::topka2a, .run = run, .selection = {select, put_back}, .seconds = seconds};

}  // namespace sparsecoll
