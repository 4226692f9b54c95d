// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "common/options.hpp"
#include "common/ranks.hpp"
#include "common/timing.hpp"

namespace sparsecoll::perf {

/// Times the memory accesses that no call with dense vectors can do without, on all ranks at once:
/// a rank reads its gradient and clears its result. With --feedback it also reads the residual,
/// adds, and writes the sum to another vector. All stores bypass the caches. Collective.
template <class T>
Times measure_floor(Ranks& ranks, const Options& options, std::span<const T> gradient);

}  // namespace sparsecoll::perf
