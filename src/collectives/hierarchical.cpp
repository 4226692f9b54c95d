// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Hierarchical: Ok-Topk (oktopk.cpp) between nodes, for several ranks that share a node's link.
//
//   1. Every rank sends L_r to the leader of its node, which adds them in rank order. It drops no
//      entry, because only the sum of all ranks decides which are in the result. (Over a wire
//      that rounds it rounds the sums before it sends them.)
//   2. The leaders run Ok-Topk with exact selection on the sums of their nodes.
//   3. Each leader broadcasts the result and its cache to the ranks of its node by a binomial tree,
//      so that all ranks have the same cache in the next call.
//
// Cost with m ranks on each of P / m nodes, u entries in the sum of a node (at most m k), and k
// entries in the result: over a node's link that of Ok-Topk with P / m ranks, u + k entries sent
// instead of 2 m k by m ranks of Ok-Topk. Within a node m - 1 messages of k entries to the leader,
// and ceil(log2 m) rounds that send the result.
//
// Predicted, with alpha and beta within nodes, by cost_model.hpp:
//   latency(m - 1) + (m - 1) (b(e) beta + e gamma)
//   + Ok-Topk between leaders with min(m e, n) entries each
//   + ceil(log2 m) (alpha + b(u) beta + u / 2 gamma)
//
// Guarantees: the verb's definition, except for the order of additions: in rank order within each
// node, then in the order of the nodes' lowest ranks. The bits are the same on every rank and in
// every run, and those of the definition if no addition rounds. P and the sizes of nodes are
// arbitrary.
#include <algorithm>
#include <limits>

#include "collectives/building_blocks/received_vectors.hpp"
#include "collectives/building_blocks/rounding.hpp"
#include "collectives/building_blocks/selection.hpp"
#include "collectives/network/cost_model.hpp"
#include "collectives/network/topology.hpp"
#include "collectives/oktopk.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

/// The call between the leaders. Its rank j is the leader of node j.
class Leaders final : public Call {
 public:
  Leaders(Call& call, const Topology& topology) : call_(call), topology_(topology) {}

  int rank() const override { return topology_.node_of(call_.rank()); }
  int size() const override { return topology_.nodes(); }
  bool in_stream_order() const override { return call_.in_stream_order(); }
  int communicator_rank(int peer) const override {
    return call_.communicator_rank(topology_.leader(peer));
  }
  void exchange_each(std::span<Transfer> transfers,
                     FunctionRef<void(size_t transfer)> on_message) override {
    for (Transfer& transfer : transfers) transfer.peer = topology_.leader(transfer.peer);
    call_.exchange(transfers);
    for (Transfer& transfer : transfers) {
      transfer.peer = topology_.node_of(transfer.peer);
      // A leader sends to other leaders only after it has received from all ranks of its node.
      if (transfer.in_bound > 0) call_.mark_covered(topology_.ranks_of(transfer.peer));
    }
    visit_received(transfers, on_message);
  }
  void mark_covered(std::span<const int> ranks) override {
    for (const int node : ranks) call_.mark_covered(topology_.ranks_of(node));
  }

 private:
  Call& call_;
  const Topology& topology_;
};

/// The node of this rank. Sends the messages between the node's ranks.
class Node {
 public:
  Node(Env& env, const Problem& problem)
      : env_(env),
        ranks_(problem.topology->ranks_of(problem.topology->node_of(env.call.rank()))),
        position_(static_cast<size_t>(std::ranges::find(ranks_, env.call.rank()) - ranks_.begin())),
        all_indices_{0, problem.count} {}

  bool is_leader() const { return position_ == 0; }

  void send_to_leader(const SparseSpan& local) { send(ranks_[0], local); }

  /// Receives the vectors of the node's other ranks and returns the sum of all. Only the leader
  /// calls it.
  SparseSpan add(const SparseSpan& local) {
    if (ranks_.size() == 1) return local;
    const auto transfers = env_.arena.take_span<Transfer>(ranks_.size() - 1);
    for (size_t i = 0; i < transfers.size(); ++i)
      transfers[i] = {ranks_[i + 1], {}, kUnknownSize, {}};
    env_.call.exchange(transfers);
    const auto messages = env_.arena.take_span<Message>(transfers.size());
    for (size_t i = 0; i < transfers.size(); ++i) messages[i] = {transfers[i].in, all_indices_};
    const ReceivedVectors others = unpack_vectors(env_, messages);
    const Stopwatch watch(env_.stats, Phase::reduce);
    const auto vectors = env_.arena.take_span<SparseSpan>(ranks_.size());
    vectors[0] = local;
    std::copy(others.spans.begin(), others.spans.end(), vectors.begin() + 1);
    const SparseBuffer sum = env_.kernels.sparse(
        std::min<uint64_t>(local.nnz.bound + others.entries, all_indices_.length()));
    env_.kernels.merge(vectors, sum);
    return sum.span();
  }

  /// Broadcasts the leader's result and cache by a binomial tree. The result is packed again for
  /// every child, because each message needs its own headroom while it is sent.
  void broadcast(SparseSpan& result, ShapeCache& cache) {
    size_t distance = 1;
    while (distance < ranks_.size() && position_ % (2 * distance) == 0) distance *= 2;
    if (!is_leader()) {
      const int parent = ranks_[position_ - distance];
      receive_cache(parent, cache);
      const Message message{receive(parent, MessageMemory::backend), all_indices_};
      result = unpack_vectors(env_, {&message, 1}).spans[0].known(env_.joined_precision());
    }
    const std::vector<uint64_t> words = cache.words();
    for (distance /= 2; distance > 0; distance /= 2) {
      if (position_ + distance >= ranks_.size()) continue;
      send_words(ranks_[position_ + distance], words);
      send(ranks_[position_ + distance], result);
    }
  }

 private:
  void send(int peer, const SparseSpan& entries) {
    Transfer transfer;
    transfer.peer = peer;
    {
      const Stopwatch watch(env_.stats, Phase::pack);
      const Packets packets =
          env_.kernels.packets(entries.nnz.bound, {&all_indices_, 1}, entries.precision);
      env_.kernels.pack_all(entries, {&all_indices_, 1}, packets);
      // One message starts right behind its headroom.
      transfer.out = {packets.slab + kHeadroom, packets.capacity - kHeadroom, packets.size};
    }
    env_.call.exchange({&transfer, 1});
  }

  void send_words(int peer, std::span<const uint64_t> words) {
    const ConstBytes bytes = std::as_bytes(words);
    std::byte* const packet = packet_memory(env_, bytes.size());
    std::copy(bytes.begin(), bytes.end(), packet);
    Transfer transfer{peer, {packet, bytes.size(), nullptr}, 0, {}, MessageMemory::host};
    env_.call.exchange({&transfer, 1});
  }

  ConstBytes receive(int peer, MessageMemory message_memory) {
    Transfer transfer{peer, {}, kUnknownSize, {}, message_memory};
    env_.call.exchange({&transfer, 1});
    return transfer.in;
  }

  void receive_cache(int peer, ShapeCache& cache) {
    const ConstBytes bytes = receive(peer, MessageMemory::host);
    const auto words = env_.arena.take_span<uint64_t>(bytes.size() / sizeof(uint64_t));
    std::copy_n(bytes.begin(), words.size_bytes(), std::as_writable_bytes(words).begin());
    std::optional<ShapeCache> known = ShapeCache::from_words(words);
    if (!known || words.size_bytes() != bytes.size())
      fail(sparsecollRemoteError, "rank ", peer, " sent a malformed state of its leader");
    known->logged_choice = cache.logged_choice;
    known->trials = cache.trials;
    cache = std::move(*known);
  }

  Env& env_;
  std::span<const int> ranks_;
  size_t position_;  ///< index of this rank in ranks_
  const Region all_indices_;
};

/// Returns the rounding errors in a leader: those of the sum of its node, and of its region of the
/// sum of all nodes.
SparseSpan add_losses(Env& env, const SparseSpan& first, const SparseSpan& second) {
  if (!env.rounds()) return {};
  const SparseSpan vectors[2] = {first, second};
  const SparseBuffer sum = env.kernels.sparse(first.nnz.bound + second.nnz.bound);
  env.kernels.merge(vectors, sum);
  return sum.span();
}

Outcome run(Env& env, const Problem& problem, ShapeCache& cache) {
  env.call.allow_uneven_exchanges();  // leaders make more exchanges
  Node node(env, problem);
  SparseSpan result, lost;
  if (node.is_leader()) {
    // 1.
    Problem node_problem = problem;
    const Rounded sum = round_for_wire(env, node.add(problem.local));
    node_problem.local = sum.values;
    // 2.
    Leaders leaders(env.call, *problem.topology);
    const Topology groups = problem.topology->of_leaders();
    if (groups.levels() > 0 && !env.rounds()) node_problem.groups = &groups;
    Env between{leaders, env.kernels, env.arena, env.stats, env.fault, env.wire};
    const Outcome outcome = run_oktopk(between, node_problem, cache);
    result = outcome.result;
    cache.entries = 0;  // the leaders do not know how many entries the ranks had
    lost = add_losses(env, sum.lost, outcome.dropped);
  } else {
    node.send_to_leader(problem.local);
  }
  // 3.
  node.broadcast(result, cache);
  return {result, lost};
}

double seconds(const ProblemSize& size, const Network&) {
  if (!size.nodes) return std::numeric_limits<double>::infinity();
  const NodeNetwork& nodes = *size.nodes;
  const EntryCounts entries = entry_counts(size);
  const auto [alpha, beta, gamma] = nodes.within;
  const double others = nodes.largest - 1, rounds = rounds_of(nodes.largest);
  const double node_entries =
      std::min(nodes.largest * entries.own, static_cast<double>(size.count));
  ProblemSize between = size;
  between.ranks = nodes.count;
  Network leaders = nodes.leaders;
  double groups = 0;
  for (const GroupLinks& level : size.levels) {
    // The leaders were timed while all of them sent through the links of their groups. A node's
    // own link counts as fast as that of its group, unless it was measured to be faster.
    leaders.beta = std::min(leaders.beta, level.beta);
    const double sum = std::min(level.ranks * entries.own, static_cast<double>(size.count));
    groups += (level.groups - 1.0) / level.groups *
                  (bytes_of(sum, size) + bytes_of(entries.result, size)) * level.beta +
              2 * (leaders.alpha + level.latency);
  }
  return latency_of(others, alpha) +
         others * (bytes_of(entries.own, size) * beta + entries.own * gamma) +
         reduce_and_gather_seconds(node_entries, entries.result, between, leaders) + groups +
         rounds * (alpha + bytes_of(entries.result, size) * beta + entries.result / 2 * gamma);
}

// It does not suit exact sums, because the formula needs the ranks' entries of the last call, and a
// call that adds by node does not count them.
bool suits(const ProblemSize& size) { return size.nodes && size.k != kAll; }

}  // namespace

extern constinit const Algorithm kHierarchical{.id = AlgorithmId::hierarchical,
                                               .run = run,
                                               .selection = kSelectTopk,
                                               .needs_topology = true,
                                               .seconds = seconds,
                                               .suits = suits};

}  // namespace sparsecoll
