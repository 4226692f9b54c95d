// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "collectives/interface/env.hpp"

namespace sparsecoll {

/// Replaces each counter by its sum over all ranks, for any P. Takes ceil(log2 P) rounds; a rank
/// sends at most two messages in each.
void allreduce_counts(Env& env, std::span<uint64_t> counters);

}  // namespace sparsecoll
