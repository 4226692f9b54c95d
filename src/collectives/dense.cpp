// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Dense allreduce: the sum of all values, without a selection. It has the two phases of
// Rabenseifner's algorithm, reduce-scatter and allgather, but with direct exchanges, so that every
// element is added in rank order.
//
//   1. Region r = [r n / P, (r + 1) n / P) belongs to rank r. Send every region to its owner.
//   2. The owner adds the P vectors in rank order.
//   3. Allgather the sums. If Auto chose Dense, each rank also sends the number of its values that
//      are not 0, on which Auto's next choice depends.
//
// Cost per rank: 2 (P - 1) messages, or P - 1 + ceil(log2 P) for short vectors; 2 n (P - 1) / P
// values sent.
// Predicted: latency(P - 1) + ceil(log2 P) alpha + 2 n (P - 1) / P (v beta + gamma / 16), with v
// bytes per value, by cost_model.hpp.
//
// Guarantees: the sum of all acc in rank order, the same bits on every rank.
#include <bit>

#include "collectives/building_blocks/allgather_messages.hpp"
#include "collectives/building_blocks/region_exchange.hpp"
#include "collectives/building_blocks/regions.hpp"
#include "collectives/interface/algorithm.hpp"
#include "collectives/network/cost_model.hpp"

namespace sparsecoll {

namespace {

/// Selects all of acc. Without a residual the values are sent in the gradient's type.
Selected select(Env& env, const Gradient& gradient, Problem& problem, ShapeCache&) {
  const Stopwatch watch(env.stats, Phase::select);
  void* const acc =
      env.kernels.bytes(problem.count * size_of(accumulation(env.kernels.data_type())));
  uint64_t* const length = env.kernels.counts(1);
  env.kernels.accumulate(gradient, acc);
  env.kernels.set_count(length, problem.count);
  const SparseSpan all{nullptr, acc, {problem.count, length}};
  problem.local = gradient.residual.write ? all : all.stored();
  problem.k = kAll;
  return {.acc = acc};
}

/// Zeroes the residual: all values were delivered.
void zero_residual(Env& env, const Delivery& delivery) {
  void* const residual = delivery.gradient.residual.write;
  if (residual) env.kernels.zero(residual, delivery.problem.count);
}

/// Returns the number of values that are not 0. Waits for it.
uint64_t count_nonzeros(Env& env, const SparseSpan& values) {
  // The histogram has one bin, which counts all keys except 0.
  const int bits = static_cast<int>(std::bit_width(env.kernels.keys().end));
  uint64_t* const counted = env.kernels.counts(2);
  env.kernels.key_histogram(values, {1, bits, 1}, counted);
  return env.kernels.read(counted);
}

// If Auto chose Dense, the result follows the definition with k = n: values of 0 are not entries,
// and sums of 0 are not delivered.

Selected select_nonzeros(Env& env, const Gradient& gradient, Problem& problem, ShapeCache& cache) {
  const Selected selected = select(env, gradient, problem, cache);
  const Stopwatch watch(env.stats, Phase::select);
  const uint64_t* const length = problem.local.nnz.at;
  problem.nonzeros = count_nonzeros(env, {nullptr, selected.acc, {problem.count, length}});
  return selected;
}

void put_back_cancelled(Env& env, const Delivery& delivery) {
  env.stats.selected = *delivery.problem.nonzeros;
  env.stats.result = count_nonzeros(env, delivery.outcome.result);
  void* const residual = delivery.gradient.residual.write;
  if (residual)
    env.kernels.keep_cancelled(delivery.selected.acc, delivery.outcome.result, residual);
}

Outcome run(Env& env, const Problem& problem, ShapeCache& cache) {
  Kernels& kernels = env.kernels;
  const auto ranks = static_cast<size_t>(env.call.size());
  const auto rank = static_cast<size_t>(env.call.rank());
  const size_t value = size_of(accumulation(kernels.data_type()));
  const std::span<const Region> regions = uniform_regions(env, problem.count);
  const Region own_region = regions[rank];

  // 1.
  const auto messages = env.arena.take_span<Message>(ranks);
  const auto own_vector =
      exchange_regions(env, problem.local, regions, [&](int source, ConstBytes message) {
        messages[static_cast<size_t>(source)] = {message, own_region};
      });
  messages[rank] = {own_vector.message, own_region};  // a dense vector is always packed
  // 2.
  const auto dense_vector = [&](size_t n) {
    return SparseBuffer{nullptr, kernels.bytes(n * value), kernels.counts(1), n};
  };
  const auto buffers = env.arena.take_span<SparseBuffer>(ranks);
  const auto vectors = env.arena.take_span<SparseSpan>(ranks);
  for (size_t r = 0; r < ranks; ++r) {
    buffers[r] = dense_vector(own_region.length());
    vectors[r] = buffers[r].span();
  }
  {
    const Stopwatch watch(env.stats, Phase::pack);
    kernels.unpack_all(messages, buffers, env.fault);
  }
  const SparseBuffer sum = dense_vector(own_region.length());
  {
    const Stopwatch watch(env.stats, Phase::reduce);
    kernels.merge(vectors, sum);
  }
  // 3.
  const ConstBytes own = pack_region(env, sum.span(), {0, own_region.length()});
  const std::span<const GatheredMessage> all =
      allgather_messages(env, {own, problem.nonzeros.value_or(0)}, problem.count / ranks * value);
  if (problem.nonzeros) cache.entries = 0;
  const Stopwatch watch(env.stats, Phase::pack);
  const SparseBuffer result = dense_vector(problem.count);
  uint64_t* nnz = kernels.counts(ranks);
  for (size_t r = 0; r < ranks; ++r) {
    if (problem.nonzeros) cache.entries += all[r].number;
    messages[r] = {all[r].message, regions[r]};
    buffers[r] = {nullptr, static_cast<std::byte*>(result.value) + regions[r].begin * value,
                  nnz + r, regions[r].length()};
  }
  kernels.unpack_all(messages, buffers, env.fault);
  kernels.set_count(result.nnz, problem.count);
  return {result.span(), {}};
}

double seconds(const ProblemSize& size, const Network& network) {
  const double ranks = size.ranks, n = static_cast<double>(size.count);
  const auto [alpha, beta, gamma] = network;
  return latency_of(ranks - 1, alpha) + rounds_of(size.ranks) * alpha +
         (ranks - 1) / ranks * 2 * n * (static_cast<double>(size.value_size) * beta + gamma / 16);
}

bool suits(const ProblemSize& size) { return size.selects_all && size.entries > 0; }

}  // namespace

extern constinit const Algorithm kDense{
    .id = AlgorithmId::dense, .run = run, .selection = {select, zero_residual}, .seconds = seconds};

extern constinit const Algorithm kDenseByAuto{.id = AlgorithmId::dense,
                                              .run = run,
                                              .selection = {select_nonzeros, put_back_cancelled},
                                              .seconds = seconds,
                                              .suits = suits};

}  // namespace sparsecoll
