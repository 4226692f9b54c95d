// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "collectives/algorithm.hpp"
#include "collectives/cost_model.hpp"

namespace sparsecoll {

/// All algorithms of sparseAllreduce, those of kAlgorithms first and then variants, which share
/// their ids. Auto is none of them: it chooses.
std::span<const Algorithm* const> algorithms();

/// Returns the algorithm with this number of the C API; null for Auto and unknown numbers.
const Algorithm* find_algorithm(int id);

/// Returns Ok-Topk with reused thresholds.
const Algorithm& oktopk_with_reused_thresholds();

/// Algorithms of other verbs, which have no choice.
const Algorithm& gtopk();
const Algorithm& reduce_scatter();

/// Returns the seconds that the model predicts; infinite for Hierarchical if nothing is known of
/// nodes, 0 for Auto.
double predicted_seconds(AlgorithmId id, const Shape& shape, const Network& network);

/// Returns the algorithm that Auto takes: of those that suit the shape the one with the fewest
/// predicted seconds, the first of several.
const Algorithm& choose_algorithm(const Shape& shape, const Network& network);

}  // namespace sparsecoll
