// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Dense allreduce: no selection, the whole of acc. Rabenseifner's two phases with direct exchange,
// so that every element is added in rank order.
//
//   1. Region r = [r n / P, (r + 1) n / P) belongs to rank r. Send every region to its owner.
//   2. The owner adds the P pieces in rank order.
//   3. Allgather the sums; where Auto chose, with how many values of each rank were not zero, by
//      which it chooses again.
//
// Cost per rank: 2 (P - 1) messages, P - 1 + ceil(log2 P) of short vectors; 2 n (P - 1) / P values
// sent.
// Guarantees: the rank-order sum of all acc, the same bits on every rank.
#include "collectives/algorithm.hpp"
#include "collectives/regions.hpp"

namespace sparsecoll {

Outcome dense_allreduce(Env& env, const Problem& problem, ShapeCache& cache) {
  Kernels& kernels = env.kernels;
  const auto ranks = static_cast<size_t>(env.call.size());
  const auto rank = static_cast<size_t>(env.call.rank());
  const size_t value = size_of(accumulation(kernels.data_type()));
  const std::span<const Region> regions = uniform_regions(env, problem.count);
  const Region mine = regions[rank];

  // 1.
  const auto messages = env.arena.take_span<Message>(ranks);
  const auto own_vector =
      exchange_regions(env, problem.local, regions, [&](int source, ConstBytes message) {
        messages[static_cast<size_t>(source)] = {message, mine};
      });
  messages[rank] = {own_vector.message, mine};  // for it is dense
  // 2.
  const auto dense_vector = [&](size_t n) {
    return SparseBuffer{nullptr, kernels.bytes(n * value), kernels.counts(1), n};
  };
  const auto buffers = env.arena.take_span<SparseBuffer>(ranks);
  const auto pieces = env.arena.take_span<SparseSpan>(ranks);
  for (size_t r = 0; r < ranks; ++r) {
    buffers[r] = dense_vector(mine.length());
    pieces[r] = buffers[r].span();
  }
  {
    const Stopwatch watch(env.stats, Phase::pack);
    kernels.unpack_all(messages, buffers, env.fault);
  }
  const SparseBuffer sum = dense_vector(mine.length());
  {
    const Stopwatch watch(env.stats, Phase::reduce);
    kernels.merge(pieces, sum);
  }
  // 3.
  const ConstBytes own = pack_region(env, sum.span(), {0, mine.length()});
  const std::span<const Gathered> all =
      allgather_messages(env, {own, problem.entries.value_or(0)}, problem.count / ranks * value);
  if (problem.entries) cache.entries = 0;
  const Stopwatch watch(env.stats, Phase::pack);
  const SparseBuffer result = dense_vector(problem.count);
  uint64_t* nnz = kernels.counts(ranks);
  for (size_t r = 0; r < ranks; ++r) {
    if (problem.entries) cache.entries += all[r].note;
    messages[r] = {all[r].message, regions[r]};
    buffers[r] = {nullptr, static_cast<std::byte*>(result.value) + regions[r].begin * value,
                  nnz + r, regions[r].length()};
  }
  kernels.unpack_all(messages, buffers, env.fault);
  kernels.set_count(result.nnz, problem.count);
  return {result.span(), {}};
}

}  // namespace sparsecoll
