// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Sharded: HiTopKComm (Shi et al., Towards Scalable Distributed Training of Deep Learning on Public
// Cloud Clusters, MLSys 2021) with exact selection, and with Ok-Topk between nodes.
//
//   1. Cut [0, n) and k in S shards, S the number of ranks on the smallest node. Every rank sends
//      each shard of its gradient, dense, to the shard's owner on its node; or the owner reads it
//      in the rank's memory (shard_exchange.hpp).
//   2. The owner adds the vectors in rank order, and its residual last: acc. It selects the k_s
//      largest entries of acc. (Over a wire that rounds it rounds them.)
//   3. The owners of a shard, one on each node, run Ok-Topk (oktopk.cpp) on their selections. All
//      shards do so at once.
//   4. Every owner sends the result in its shard to the other ranks of its node, with a hash of the
//      shard's cache, so that all ranks know whether their caches are of the same calls.
// In a reduce-scatter each owner adds its region of its shard in step 3 (reduce_scatter.cpp), and
// step 4 sends an empty message to the ranks without a shard.
//
// Cost with m ranks on each of V nodes, S = m: within a node m - 1 messages and n (m - 1) / m
// values sent by each rank in step 1, 2 (m - 1) messages and k (m - 1) / m entries in step 4; over
// a node's link that of m ranks of Ok-Topk with V ranks and k / m entries: 2 k (V - 1) / V entries,
// where m ranks of Ok-Topk on the whole vector send 2 m k (V - 1) / V. A rank selects from n / m
// values, and its residual has as many.
//
// Predicted, with alpha and beta within nodes, by cost_model.hpp:
//   3 latency(m - 1) + (m - 1) / m (n v + b(u)) beta + u / 2 gamma
//   + Ok-Topk between nodes with e and u entries, which share a node's link
// To add m - 1 vectors of n / m values takes about as long as to select from n - n / m values more,
// so that neither is counted.
//
// Guarantees: docs/semantics.md, bit for bit: another definition than that of the other algorithms.
// The same bits on every rank and in every run. Sum over nodes of residuals plus delivered = sum of
// acc. P and the sizes of nodes are arbitrary.
#include <algorithm>
#include <limits>

#include "collectives/building_blocks/region_exchange.hpp"
#include "collectives/building_blocks/selection.hpp"
#include "collectives/building_blocks/shard_exchange.hpp"
#include "collectives/network/cost_model.hpp"
#include "collectives/network/topology.hpp"
#include "collectives/oktopk.hpp"
#include "core/checksum.hpp"

namespace sparsecoll {

namespace {

/// The call between the owners of one shard. Its rank v is the owner on node v.
class Owners final : public Call {
 public:
  Owners(Call& call, const Topology& topology, int shard)
      : call_(call), topology_(topology), shard_(static_cast<size_t>(shard)) {}

  int rank() const override { return topology_.node_of(call_.rank()); }
  int size() const override { return topology_.nodes(); }
  /// Returns the rank of the owner on a node.
  int owner_on(int node) const { return topology_.ranks_of(node)[shard_]; }
  bool in_stream_order() const override { return call_.in_stream_order(); }
  int communicator_rank(int peer) const override { return call_.communicator_rank(owner_on(peer)); }
  void exchange_each(std::span<Transfer> transfers,
                     FunctionRef<void(size_t transfer)> on_message) override {
    for (Transfer& transfer : transfers) transfer.peer = owner_on(transfer.peer);
    call_.exchange(transfers);
    for (Transfer& transfer : transfers) {
      transfer.peer = topology_.node_of(transfer.peer);
      // An owner sends to other owners only after it has received from all ranks of its node.
      if (transfer.in_bound > 0) call_.mark_covered(topology_.ranks_of(transfer.peer));
    }
    visit_received(transfers, on_message);
  }

 private:
  Call& call_;
  const Topology& topology_;
  size_t shard_;
};

// --- step 2

/// Selects the k largest entries of the sum of the vectors and the residual. One vector may be the
/// sum of all.
void select_from_sum(Env& env, std::span<const SparseSpan> vectors, const ResidualView& residual,
                     const SparseBuffer& selected, size_t k) {
  Kernels& kernels = env.kernels;
  const DataType type = kernels.data_type();
  const Count length = vectors[0].nnz;
  const size_t bytes = length.bound * size_of(accumulation(type));
  if (accumulation(type) == type) {
    const void* sum = vectors[0].value;
    void* const buffer = vectors.size() > 1 ? kernels.bytes(bytes) : nullptr;
    for (const SparseSpan& each : vectors.subspan(1)) {
      kernels.accumulate({each.value, length.bound, {sum, nullptr}}, buffer);
      sum = buffer;
    }
    kernels.accumulate_select({sum, length.bound, residual}, k, selected);
    return;
  }
  void* const sum = kernels.bytes(bytes);
  // Gradients have 16 bits, the sum has not. So the sum is passed as the residual of a gradient of
  // -0, which adds nothing to it.
  const auto all = env.arena.take_span<SparseSpan>(vectors.size() + 1);
  std::ranges::copy(vectors, all.begin());
  all.back() = {nullptr, residual.read, length};
  kernels.merge(residual.read ? all : all.first(vectors.size()),
                {nullptr, sum, kernels.counts(1), length.bound});
  const auto zeros = env.arena.take_span<uint16_t>(length.bound, 0x8000);
  void* const rest = residual.write ? residual.write : kernels.bytes(bytes);
  kernels.accumulate_select({kernels.upload(std::as_bytes(zeros)), length.bound, {sum, rest}}, k,
                            selected);
}

Selected select(Env& env, const Gradient& gradient, Problem& problem, ShapeCache&) {
  env.call.allow_uneven_exchanges();  // the shards need different numbers of exchanges
  ShardExchange node(env, problem);
  const size_t k = node.owns() ? node.quota(node.position()) : 0;
  SparseBuffer selected = env.kernels.sparse(k);
  bool done = false;
  const auto select_where_they_are = [&](SummedVectors& vectors) {
    const Stopwatch watch(env.stats, Phase::select);
    const Gradient sum{nullptr, node.region(node.position()).length(), gradient.residual};
    return done = env.kernels.accumulate_select_sum(vectors, sum, k, selected);
  };
  const std::span<const SparseSpan> vectors =
      node.exchange_shards(gradient.values, problem.count, select_where_they_are);
  if (!node.owns()) {
    problem.local = empty_vector(env).span().stored();
    return {};
  }
  if (!done) {
    const Stopwatch watch(env.stats, Phase::select);
    if (vectors.empty())
      env.kernels.accumulate_select(gradient, k, selected);  // this rank owns the only shard
    else
      select_from_sum(env, vectors, gradient.residual, selected, k);
  }
  return contribute(env, selected.span(), problem);
}

void put_back(Env& env, const Delivery& delivery) {
  if (delivery.selected.lost.empty()) return;  // this rank owns no shard
  const Outcome in_shard{delivery.outcome.in_shard, delivery.outcome.dropped};
  put_back_entries(
      env, {delivery.gradient, delivery.problem, delivery.selected, in_shard, delivery.rule});
}

// --- steps 3 and 4

/// Returns the environment of the call between the owners of this rank's shard.
Env among(Owners& owners, Env& env) {
  return {owners, env.kernels, env.arena, env.stats, env.fault, env.wire};
}

Outcome run(Env& env, const Problem& problem, ShapeCache& cache) {
  ShardExchange node(env, problem);
  Outcome in_shard;
  cache.shards = 0;
  if (node.owns()) {
    Owners owners(env.call, *problem.topology, static_cast<int>(node.position()));
    Env between = among(owners, env);
    Problem shard = problem;
    shard.count = node.region(node.position()).length();
    shard.k = node.quota(node.position());
    in_shard = run_oktopk(between, shard, cache);
  }
  cache.shards = checksum(std::as_bytes(node.exchange_numbers(cache.hash())));
  return {node.exchange_results(in_shard.result), in_shard.dropped, in_shard.result};
}

Outcome run_reduce_scatter(Env& env, const Problem& problem, ShapeCache&) {
  ShardExchange node(env, problem);
  SparseSpan part = empty_vector(env).span();
  if (node.owns()) {
    const Region shard = node.region(node.position());
    Owners owners(env.call, *problem.topology, static_cast<int>(node.position()));
    Env between = among(owners, env);
    const auto regions = env.arena.take_span<Region>(static_cast<size_t>(owners.size()));
    for (int v = 0; v < owners.size(); ++v) {
      const Region& whole = problem.regions[static_cast<size_t>(owners.owner_on(v))];
      regions[static_cast<size_t>(v)] = {
          std::clamp(whole.begin, shard.begin, shard.end) - shard.begin,
          std::clamp(whole.end, shard.begin, shard.end) - shard.begin};
    }
    const SparseSpan sum = RegionSum(between, problem.local, regions).add();
    // Packed and unpacked, so that indices count from the start of the vector.
    const Message message{pack_region(env, sum, regions[static_cast<size_t>(owners.rank())]),
                          problem.regions[static_cast<size_t>(env.call.rank())]};
    part = unpack_vectors(env, {&message, 1}).spans[0];
  }
  if (node.has_others() || problem.passes_marks) node.exchange_numbers(0);
  return {part, {}};
}

double seconds(const ProblemSize& size, const Network&) {
  if (!size.nodes) return std::numeric_limits<double>::infinity();
  const NodeNetwork& nodes = *size.nodes;
  const EntryCounts entries = entry_counts(size);
  const auto [alpha, beta, gamma] = nodes.within;
  const double ranks = nodes.largest;
  const double dense = static_cast<double>(size.count) * static_cast<double>(size.value_size);
  ProblemSize between = size;
  between.ranks = nodes.count;
  return 3 * latency_of(ranks - 1, alpha) +
         (ranks - 1) / ranks * (dense + bytes_of(entries.result, size)) * beta +
         entries.result / 2 * gamma +
         reduce_and_gather_seconds(entries.own, entries.result, between, nodes.leaders);
}

}  // namespace

extern constinit const Algorithm kSharded{.id = AlgorithmId::sharded,
                                          .run = run,
                                          .selection = {select, put_back},
                                          .needs_topology = true,
                                          .seconds = seconds};

extern constinit const Algorithm kShardedReduceScatter{.id = AlgorithmId::sharded,
                                                       .run = run_reduce_scatter,
                                                       .selection = {select, put_back},
                                                       .needs_topology = true};

}  // namespace sparsecoll
