// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "common/options.hpp"
#include "common/ranks.hpp"

namespace sparsecoll::perf {

/// The value of options.combine that asks for the time from the first rank's start to the last
/// rank's end.
inline constexpr char kMakespan[] = "makespan";

/// Statistics of the timed calls, in seconds. Each call starts after a barrier. Its time is the
/// average, minimum or maximum of the ranks' times, or their makespan (options.combine).
struct Times {
  double average = 0;
  double minimum = 0;
  double median = 0;
  double maximum = 0;
};

/// Returns the statistics of these times, of which there must be at least one.
Times summary(std::vector<double> seconds);

/// Makes options.warmup calls, then options.iterations timed ones. `prepare` precedes every call
/// and is not timed. Collective; returns the same times on every rank.
Times measure(Ranks& ranks, const Options& options, const std::function<void()>& prepare,
              const std::function<void()>& call);

}  // namespace sparsecoll::perf
