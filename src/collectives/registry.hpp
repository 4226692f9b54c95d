// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "collectives/interface/algorithm.hpp"
#include "collectives/network/cost_model.hpp"

namespace sparsecoll {

/// Returns all algorithms of sparseAllreduce: those of kAlgorithms and then variants, which share
/// their ids. Auto is not among them.
std::span<const Algorithm* const> algorithms();

/// Returns the algorithm with this number in the C API, or null for Auto and unknown numbers.
const Algorithm* find_algorithm(int id);

/// Returns Ok-Topk with reused thresholds.
const Algorithm& oktopk_with_reused_thresholds();

/// These verbs have only one algorithm.
const Algorithm& gtopk();
const Algorithm& reduce_scatter();

/// Returns Sharded's reduce-scatter, for bounds that agree with the shards.
const Algorithm& sharded_reduce_scatter();

/// Returns whether Auto takes Sharded for vectors of this length, if it may. The answer depends
/// neither on k nor on measurements: a residual is made for one of the two definitions before there
/// is a call. The formulas are compared for k = 1% on a commodity network, whose nodes have fast
/// memory.
bool pays_to_shard(const Topology& topology, uint64_t count, size_t value_size);

/// Returns the predicted seconds of a call: infinite for Hierarchical and Sharded if the nodes are
/// not known, 0 for Auto.
double predicted_seconds(AlgorithmId id, const ProblemSize& size, const Network& network);

/// Returns Auto's choice: the algorithm with the shortest predicted time among those that suit the
/// size. On a tie the first in the table wins.
const Algorithm& choose_algorithm(const ProblemSize& size, const Network& network);

/// Returns Auto's choice where calls can be timed: the algorithm whose turn it is in the trials of
/// the shape (interface/trials.hpp). Candidates are the algorithms that suit the size, except those
/// that should take over four times as long as the fastest.
const Algorithm& try_algorithms(const ProblemSize& size, const Network& network, Trials& trials);

}  // namespace sparsecoll
