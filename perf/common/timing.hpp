// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "common/options.hpp"
#include "common/ranks.hpp"

namespace sparsecoll::perf {

/// Seconds of one call over the timed calls. Each call starts behind a barrier; its time is the
/// ranks' average, minimum or maximum (options.combine), the maximum being when the last is done.
struct Times {
  double average = 0;
  double minimum = 0;
  double median = 0;
  double maximum = 0;
};

/// Of these calls, in any order; at least one.
Times summary(std::vector<double> seconds);

/// options.warmup calls, then options.iterations timed ones. `prepare` precedes every call outside
/// the clock. Collective; the same numbers on every rank.
Times measure(Ranks& ranks, const Options& options, const std::function<void()>& prepare,
              const std::function<void()>& call);

}  // namespace sparsecoll::perf
