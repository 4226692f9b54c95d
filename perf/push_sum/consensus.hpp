// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/machine.hpp"
#include "common/ranks.hpp"
#include "common/report.hpp"
#include "common/storage.hpp"
#include "push_sum/options.hpp"

namespace sparsecoll::perf {

/// Measures the distance of the ranks' estimates from their mean after each step, and the time of a
/// step, for every size, graph, delay and density. Collective; returns the program's exit status.
int measure_consensus(const PushSumOptions& options, Ranks& ranks, Storage& storage);

/// Measures what one random slow rank in each step costs push-sum and dense allreduces. Collective;
/// returns the program's exit status.
int measure_slow_rank(const PushSumOptions& options, Ranks& ranks, Storage& storage);

/// Prints the lines above a table.
void push_sum_header(const Table& table, const PushSumOptions& options, const Machine& machine,
                     int ranks);

}  // namespace sparsecoll::perf
