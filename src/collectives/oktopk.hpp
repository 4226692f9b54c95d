// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/algorithm.hpp"

namespace sparsecoll {

/// Ok-Topk with exact selection; see oktopk.cpp. Hierarchical runs it between leaders.
Outcome run_oktopk(Env& env, const Problem& problem, ShapeCache& cache);

}  // namespace sparsecoll
