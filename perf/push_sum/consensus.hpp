// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/machine.hpp"
#include "common/ranks.hpp"
#include "common/report.hpp"
#include "common/storage.hpp"
#include "push_sum/options.hpp"

namespace sparsecoll::perf {

/// How far the ranks' estimates are from their mean after each step, and how long a step takes, for
/// every size, graph, delay and density. Collective; returns the program's exit status.
int measure_consensus(const PushSumOptions& options, Ranks& ranks, Storage& storage);

/// What one random slow rank in each step costs push-sum and dense allreduces. Collective.
int measure_slow_rank(const PushSumOptions& options, Ranks& ranks, Storage& storage);

/// The lines above a table.
void push_sum_header(const Table& table, const PushSumOptions& options, const Machine& machine,
                     int ranks);

}  // namespace sparsecoll::perf
