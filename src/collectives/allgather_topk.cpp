// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Classic Top-k allreduce by allgather (as in Shi et al., ICDCS 2019, section 2, and SparCML,
// Renggli et al., SC 2019): the algorithm of the latency regime.
//
//   1. Pack the local selection L_r into one message.
//   2. Allgather the messages by Bruck's algorithm.
//   3. Unpack all and add them in rank order: s.
//   4. Result = top-k of s (all of s for k = SPARSECOLL_ALL).
//
// Cost per rank: ceil(log2 P) messages; k (P - 1) entries sent.
// Guarantees: the contract's definition bit for bit. Every rank does the same work on the same
// data.
#include "collectives/algorithm.hpp"
#include "kernels/wire.hpp"

namespace sparsecoll {

Outcome allgather_topk(Env& env, const Problem& problem, Warm& warm) {
  Kernels& kernels = env.kernels;
  const Region whole{0, problem.count};
  const auto ranks = static_cast<size_t>(env.call.size());

  // 1.
  ConstBytes own;
  {
    const Stopwatch watch(env.stats.pack_seconds);
    const Packets packets = kernels.packets(problem.local.nnz.bound, {&whole, 1});
    kernels.pack_all(problem.local, {&whole, 1}, packets);
    own = {packets.slab + kernels.read(packets.offset), kernels.read(packets.size)};
  }
  // 2.
  const std::span<const Gathered> all = allgather_messages(env, own, 0);
  // 3.
  const auto messages = env.arena.take_span<Message>(ranks);
  const auto buffers = env.arena.take_span<SparseBuffer>(ranks);
  const auto pieces = env.arena.take_span<SparseSpan>(ranks);
  size_t entries = 0;
  {
    const Stopwatch watch(env.stats.pack_seconds);
    for (size_t r = 0; r < ranks; ++r) {
      messages[r] = {all[r].message, whole};
      buffers[r] = kernels.sparse(wire_entries(all[r].message, kernels.data_type(), problem.count));
      pieces[r] = buffers[r].span();
      entries += buffers[r].capacity;
    }
    kernels.unpack_all(messages, buffers, env.fault);
  }
  const Stopwatch watch(env.stats.reduce_seconds);
  const SparseBuffer sum = kernels.sparse(std::min<uint64_t>(entries, problem.count));
  kernels.merge(pieces, sum);
  warm.entries = entries;
  if (problem.k == kAll) return {sum.span(), no_entries(env).span()};
  // 4.
  const SparseBuffer result = kernels.sparse(std::min(problem.k, sum.capacity));
  kernels.top_k(sum.span(), problem.k, result, SparseBuffer{});
  return {result.span(), no_entries(env).span()};
}

}  // namespace sparsecoll
