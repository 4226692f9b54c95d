// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Top-k allreduce by an allgather of the selections (Shi et al., ICDCS 2019, section 2; SparCML,
// Renggli et al., SC 2019). It is the best algorithm if latency dominates.
//
//   1. Pack the local selection L_r into one message.
//   2. Allgather the messages.
//   3. Unpack all messages and add them in rank order: s.
//   4. Result = top-k of s (all of s for k = SPARSECOLL_ALL).
//
// Cost per rank: ceil(log2 P) messages, P - 1 long ones; k (P - 1) entries sent.
// Predicted: ceil(log2 P) alpha + (P - 1) (b(e) beta + e gamma), by cost_model.hpp. The formula
// leaves out that long messages are under way at the same time.
//
// Guarantees: the verb's definition bit for bit. Every rank does the same work on the same data.
#include <algorithm>

#include "collectives/building_blocks/allgather_messages.hpp"
#include "collectives/building_blocks/region_exchange.hpp"
#include "collectives/building_blocks/selection.hpp"
#include "collectives/interface/algorithm.hpp"
#include "collectives/network/cost_model.hpp"

namespace sparsecoll {

namespace {

Outcome run(Env& env, const Problem& problem, ShapeCache& cache) {
  Kernels& kernels = env.kernels;
  const Region all_indices{0, problem.count};

  // 1. A single rank reads its own entries in place, and has nothing to pack.
  const std::optional<SparseSpan> in_place = kernels.slice(problem.local, all_indices);
  ConstBytes own;
  if (env.call.size() > 1 || !in_place)
    own = pack_region(env, problem.local, all_indices, true);
  else
    Stopwatch(env.stats, Phase::pack).took_no_time();
  // 2.
  const uint64_t entries =
      problem.k != kAll ? problem.k : cache.entries / static_cast<uint64_t>(env.call.size());
  const size_t expected_bytes =
      std::min(entries, problem.count) * kernels.wire_value_size(problem.local.precision);
  const std::span<const GatheredMessage> all = allgather_messages(env, {own, 0}, expected_bytes);
  // 3.
  const auto messages = env.arena.take_span<Message>(all.size());
  for (size_t r = 0; r < all.size(); ++r) messages[r] = {all[r].message, all_indices};
  const ReceivedVectors received = unpack_vectors(env, messages, in_place);
  const Stopwatch watch(env.stats, Phase::reduce);
  const SparseBuffer sum = kernels.sparse(std::min<uint64_t>(received.entries, problem.count));
  kernels.merge(received.spans, sum);
  cache.entries = received.entries;
  if (problem.k == kAll) return {sum.span(), {}};
  // 4.
  const SparseBuffer result = kernels.sparse(std::min(problem.k, sum.capacity));
  kernels.top_k(sum.span(), problem.k, result, SparseBuffer{});
  return {result.span(), {}};
}

double seconds(const ProblemSize& size, const Network& network) {
  const auto [alpha, beta, gamma] = network;
  const double own = entry_counts(size).own;
  return rounds_of(size.ranks) * alpha +
         (size.ranks - 1) * (bytes_of(own, size) * beta + own * gamma);
}

// The number of entries is unknown before the first exact sum of a shape. Ok-Topk is a safe choice
// then, because its cost is never far above the lowest.
bool suits(const ProblemSize& size) { return !size.entries_unknown(); }

}  // namespace

extern constinit const Algorithm kAllgatherTopk{.id = AlgorithmId::allgather,
                                                .run = run,
                                                .selection = kSelectTopk,
                                                .seconds = seconds,
                                                .suits = suits};

}  // namespace sparsecoll
