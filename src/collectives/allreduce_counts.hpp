// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "collectives/env.hpp"

namespace sparsecoll {

/// Replaces each counter by its sum over ranks, the same on all ranks, for any P. Takes about
/// log2 P rounds with at most two messages each.
void allreduce_counts(Env& env, std::span<uint64_t> counters);

}  // namespace sparsecoll
