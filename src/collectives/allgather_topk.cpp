// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Classic Top-k allreduce by allgather (as in Shi et al., ICDCS 2019, section 2, and SparCML,
// Renggli et al., SC 2019): the algorithm of the latency regime.
//
//   1. Pack the local selection L_r into one message.
//   2. Allgather the messages.
//   3. Unpack all and add them in rank order: s.
//   4. Result = top-k of s (all of s for k = SPARSECOLL_ALL).
//
// Cost per rank: ceil(log2 P) messages, P - 1 long ones; k (P - 1) entries sent.
// Guarantees: the contract's definition bit for bit. Every rank does the same work on the same
// data.
#include <algorithm>

#include "collectives/algorithm.hpp"
#include "collectives/regions.hpp"

namespace sparsecoll {

Outcome allgather_topk(Env& env, const Problem& problem, ShapeCache& cache) {
  Kernels& kernels = env.kernels;
  const Region whole{0, problem.count};

  // 1.
  const ConstBytes own = pack_region(env, problem.local, whole);
  // 2.
  const uint64_t entries =
      problem.k != kAll ? problem.k : cache.entries / static_cast<uint64_t>(env.call.size());
  const size_t about =
      std::min(entries, problem.count) * kernels.wire_value_size(problem.local.precision);
  const std::span<const Gathered> all = allgather_messages(env, {own, 0}, about);
  // 3.
  const auto messages = env.arena.take_span<Message>(all.size());
  for (size_t r = 0; r < all.size(); ++r) messages[r] = {all[r].message, whole};
  const ReceivedVectors pieces =
      unpack_vectors(env, messages, kernels.part_of(problem.local, whole));
  const Stopwatch watch(env.stats, Phase::reduce);
  const SparseBuffer sum = kernels.sparse(std::min<uint64_t>(pieces.entries, problem.count));
  kernels.merge(pieces.spans, sum);
  cache.entries = pieces.entries;
  if (problem.k == kAll) return {sum.span(), {}};
  // 4.
  const SparseBuffer result = kernels.sparse(std::min(problem.k, sum.capacity));
  kernels.top_k(sum.span(), problem.k, result, SparseBuffer{});
  return {result.span(), {}};
}

}  // namespace sparsecoll
