// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/interface/algorithm.hpp"

namespace sparsecoll {

/// Runs Ok-Topk with exact selection (oktopk.cpp). Hierarchical calls it for the leaders.
Outcome run_oktopk(Env& env, const Problem& problem, ShapeCache& cache);

}  // namespace sparsecoll
