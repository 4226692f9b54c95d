// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/building_blocks/selection.hpp"

#include "collectives/building_blocks/rounding.hpp"

namespace sparsecoll {

Selected select_topk(Env& env, const Gradient& gradient, Problem& problem, ShapeCache&) {
  const SparseBuffer selected = env.kernels.sparse(problem.k);
  {
    const Stopwatch watch(env.stats, Phase::select);
    env.kernels.accumulate_select(gradient, problem.k, selected);
  }
  return contribute(env, selected.span(), problem);
}

Selected contribute(Env& env, const SparseSpan& entries, Problem& problem) {
  const Rounded sent = round_for_wire(env, entries.stored());
  problem.local = sent.values;
  const auto lost = env.arena.take_span<SparseSpan>(1);
  lost[0] = sent.lost;
  return {lost};
}

void put_back_entries(Env& env, const Delivery& delivery) {
  void* const residual = delivery.gradient.residual.write;
  if (!residual) return;
  add_lost(env.kernels, delivery.selected.lost[0], residual);
  env.kernels.put_back(
      {delivery.problem.local, delivery.outcome.result, delivery.outcome.dropped, delivery.rule},
      residual);
}

void add_lost(Kernels& kernels, const SparseSpan& lost, void* residual) {
  if (lost.value) kernels.put_back({lost, {}, {}}, residual);
}

}  // namespace sparsecoll
