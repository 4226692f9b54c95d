// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Sparse reduce-scatter: the first half of Ok-Topk (Li & Hoefler, PPoPP 2022, "split and reduce"),
// with regions that the caller chooses.
//
//   1. Region r = [bounds[r], bounds[r + 1]) belongs to rank r. Send every rank the entries of the
//      local selection L_r that lie in its region, destinations rotating.
//   2. The owner adds the P vectors in rank order. The result is its region of s, the sum of all
//      L_r.
//
// Cost per rank: P - 1 messages; k (P - 1) / P entries sent and received if the regions share the
// load evenly. At worst one rank receives the entries of all ranks, k P.
//
// Guarantees: every entry of s on exactly one rank, the same bits in every run; entries that cancel
// stay, as zeros. All selected entries are delivered, so that none returns to the residual, except
// for rounding errors.
#include "collectives/building_blocks/region_exchange.hpp"
#include "collectives/building_blocks/selection.hpp"
#include "collectives/interface/algorithm.hpp"

namespace sparsecoll {

namespace {

Outcome run(Env& env, const Problem& problem, ShapeCache&) {
  // 1. and 2.
  return {RegionSum(env, problem.local, problem.regions).add(), {}};
}

}  // namespace

extern constinit const Algorithm kReduceScatter{
    .id = AlgorithmId::automatic, .run = run, .selection = kSelectTopk};

}  // namespace sparsecoll
