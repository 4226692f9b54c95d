// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Hierarchical: Ok-Topk (oktopk.cpp) between nodes, for several ranks that share a node's link.
//
//   1. Every rank sends L_r to the leader of its node, which adds them in rank order, all of them:
//      nothing is pruned before the sum of all ranks is known. (Over a bfloat16 wire it rounds the
//      sums, since they travel next.)
//   2. The leaders run Ok-Topk with exact selection on the sums of their nodes.
//   3. The result goes from each leader to the ranks of its node by a binomial tree, and with it
//      what leaders remember of the call: the next one starts from that on all ranks.
//
// With m ranks on each of P / m nodes, u entries in the sum of a node (at most m k), k in the
// result. Cost through a node's link: Ok-Topk's of P / m ranks, u + k entries out, where m ranks
// would send 2 m k. Within a node: m - 1 messages of k entries to the leader, and ceil(log2 m)
// rounds of the result.
//
// Predicted, with alpha and beta within nodes, by cost_model.hpp: latency(m - 1) + (m - 1) (b(e)
// beta
// + e gamma) + Ok-Topk between leaders with min(m e, n) entries each + ceil(log2 m) (alpha + b(u)
// beta
// + u / 2 gamma).
//
// Guarantees: the contract's definition but for the order of the sums, which is by node first: in
// rank order within nodes, then in the order of nodes by their lowest ranks. The same bits on every
// rank and in every run; the definition's own where sums are exact. Any P, any nodes.
#include <algorithm>
#include <limits>

#include "collectives/cost_model.hpp"
#include "collectives/oktopk.hpp"
#include "collectives/received_vectors.hpp"
#include "collectives/topology.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

/// The call as the leaders see it among themselves: rank j is the leader of node j.
class Leaders final : public Call {
 public:
  Leaders(Call& whole, const Topology& topology) : whole_(whole), topology_(topology) {}

  int rank() const override { return topology_.node_of(whole_.rank()); }
  int size() const override { return topology_.nodes(); }
  bool in_stream_order() const override { return whole_.in_stream_order(); }
  int communicator_rank(int peer) const override {
    return whole_.communicator_rank(topology_.leader(peer));
  }
  void exchange_each(std::span<Transfer> transfers,
                     FunctionRef<void(size_t transfer)> on_message) override {
    for (Transfer& transfer : transfers) transfer.peer = topology_.leader(transfer.peer);
    whole_.exchange(transfers);
    for (Transfer& transfer : transfers) {
      transfer.peer = topology_.node_of(transfer.peer);
      // A leader says nothing to the others before it has heard from all of its node.
      if (transfer.in_bound > 0) whole_.mark_covered(topology_.ranks_of(transfer.peer));
    }
    visit_received(transfers, on_message);
  }

 private:
  Call& whole_;
  const Topology& topology_;
};

/// This rank's node.
class Node {
 public:
  Node(Env& env, const Problem& problem)
      : env_(env),
        ranks_(problem.topology->ranks_of(problem.topology->node_of(env.call.rank()))),
        place_(static_cast<size_t>(std::ranges::find(ranks_, env.call.rank()) - ranks_.begin())),
        whole_{0, problem.count} {}

  bool is_led_here() const { return place_ == 0; }

  void give_to_leader(const SparseSpan& local) { give(ranks_[0], local); }

  /// On the leader: the sum of what the ranks put in.
  SparseSpan add(const SparseSpan& local) {
    if (ranks_.size() == 1) return local;
    const auto transfers = env_.arena.take_span<Transfer>(ranks_.size() - 1);
    for (size_t i = 0; i < transfers.size(); ++i)
      transfers[i] = {ranks_[i + 1], {}, kUnknownSize, {}};
    env_.call.exchange(transfers);
    const auto messages = env_.arena.take_span<Message>(transfers.size());
    for (size_t i = 0; i < transfers.size(); ++i) messages[i] = {transfers[i].in, whole_};
    const ReceivedVectors others = unpack_vectors(env_, messages);
    const Stopwatch watch(env_.stats, Phase::reduce);
    const auto pieces = env_.arena.take_span<SparseSpan>(ranks_.size());
    pieces[0] = local;
    std::copy(others.spans.begin(), others.spans.end(), pieces.begin() + 1);
    const SparseBuffer sum =
        env_.kernels.sparse(std::min<uint64_t>(local.nnz.bound + others.entries, whole_.length()));
    env_.kernels.merge(pieces, sum);
    return sum.span();
  }

  /// Brings what the leader has to all: a binomial tree. The result is packed anew for every child,
  /// since each message needs its own headroom while it is under way.
  void spread(SparseSpan& result, ShapeCache& cache) {
    size_t distance = 1;
    while (distance < ranks_.size() && place_ % (2 * distance) == 0) distance *= 2;
    if (!is_led_here()) {
      const int parent = ranks_[place_ - distance];
      take_warm(parent, cache);
      const Message message{take(parent, MessageMemory::backend), whole_};
      const Precision precision = env_.rounds() ? Precision::bfloat16 : Precision::accumulated;
      result = unpack_vectors(env_, {&message, 1}).spans[0].known(precision);
    }
    const std::vector<uint64_t> words = cache.words();
    for (distance /= 2; distance > 0; distance /= 2) {
      if (place_ + distance >= ranks_.size()) continue;
      give_words(ranks_[place_ + distance], words);
      give(ranks_[place_ + distance], result);
    }
  }

 private:
  void give(int peer, const SparseSpan& entries) {
    Transfer transfer;
    transfer.peer = peer;
    {
      const Stopwatch watch(env_.stats, Phase::pack);
      const Packets packets =
          env_.kernels.packets(entries.nnz.bound, {&whole_, 1}, entries.precision);
      env_.kernels.pack_all(entries, {&whole_, 1}, packets);
      // One message starts right behind its headroom.
      transfer.out = {packets.slab + kHeadroom, packets.capacity - kHeadroom, packets.size};
    }
    env_.call.exchange({&transfer, 1});
  }

  void give_words(int peer, std::span<const uint64_t> words) {
    const ConstBytes bytes = std::as_bytes(words);
    std::byte* const room = packet_memory(env_, bytes.size());
    std::copy(bytes.begin(), bytes.end(), room);
    Transfer transfer{peer, {room, bytes.size(), nullptr}, 0, {}, MessageMemory::host};
    env_.call.exchange({&transfer, 1});
  }

  ConstBytes take(int peer, MessageMemory message_memory) {
    Transfer transfer{peer, {}, kUnknownSize, {}, message_memory};
    env_.call.exchange({&transfer, 1});
    return transfer.in;
  }

  void take_warm(int peer, ShapeCache& cache) {
    const ConstBytes bytes = take(peer, MessageMemory::host);
    const auto words = env_.arena.take_span<uint64_t>(bytes.size() / sizeof(uint64_t));
    std::copy_n(bytes.begin(), words.size_bytes(), std::as_writable_bytes(words).begin());
    std::optional<ShapeCache> known = ShapeCache::from_words(words);
    if (!known || words.size_bytes() != bytes.size())
      fail(sparsecollRemoteError, "rank ", peer, " sent a malformed state of its leader");
    known->chosen = cache.chosen;
    cache = std::move(*known);
  }

  Env& env_;
  std::span<const int> ranks_;
  size_t place_;  ///< of this rank among them
  const Region whole_;
};

/// What a leader rounds off twice: the sum of its node, and its region of the sum of all.
SparseSpan both(Env& env, const SparseSpan& first, const SparseSpan& second) {
  if (!env.rounds()) return {};
  const SparseSpan pieces[2] = {first, second};
  const SparseBuffer sum = env.kernels.sparse(first.nnz.bound + second.nnz.bound);
  env.kernels.merge(pieces, sum);
  return sum.span();
}

Outcome run(Env& env, const Problem& problem, ShapeCache& cache) {
  env.call.allow_uneven_exchanges();  // leaders have their own
  Node node(env, problem);
  SparseSpan result, lost;
  if (node.is_led_here()) {
    // 1.
    Problem of_node = problem;
    const Rounded sum = round_for_wire(env, node.add(problem.local));
    of_node.local = sum.values;
    // 2.
    Leaders leaders(env.call, *problem.topology);
    Env between{leaders, env.kernels, env.arena, env.stats, env.fault, env.wire};
    const Outcome outcome = run_oktopk(between, of_node, cache);
    result = outcome.result;
    cache.entries = 0;  // what leaders put in is not what the ranks had
    lost = both(env, sum.lost, outcome.dropped);
  } else {
    node.give_to_leader(problem.local);
  }
  // 3.
  node.spread(result, cache);
  return {result, lost};
}

double seconds(const Shape& shape, const Network&) {
  if (!shape.nodes) return std::numeric_limits<double>::infinity();
  const Nodes& nodes = *shape.nodes;
  const Volume volume = volume_of(shape);
  const auto [alpha, beta, gamma] = nodes.within;
  const double others = nodes.largest - 1, rounds = rounds_of(nodes.largest);
  const double of_node = std::min(nodes.largest * volume.own, static_cast<double>(shape.count));
  Shape between = shape;
  between.ranks = nodes.count;
  return latency_of(others, alpha) +
         others * (bytes_of(volume.own, shape) * beta + volume.own * gamma) +
         reduce_and_gather_seconds(of_node, volume.result, between, nodes.leaders) +
         rounds * (alpha + bytes_of(volume.result, shape) * beta + volume.result / 2 * gamma);
}

// Not for exact sums: a call that adds by node does not tell how many entries the ranks had.
bool suits(const Shape& shape) { return shape.nodes && shape.k != kAll; }

}  // namespace

extern constinit const Algorithm kHierarchical{.id = AlgorithmId::hierarchical,
                                               .run = run,
                                               .selection = kSelectTopk,
                                               .needs_topology = true,
                                               .seconds = seconds,
                                               .suits = suits};

}  // namespace sparsecoll
