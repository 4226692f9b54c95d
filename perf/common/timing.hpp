// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
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

/// Times calls of all ranks. `prepare` precedes every call and is not timed.
class Timing {
 public:
  Timing(Ranks& ranks, const Options& options, std::function<void()> prepare,
         std::function<void()> call)
      : ranks_(ranks), options_(options), prepare_(std::move(prepare)), call_(std::move(call)) {}

  /// Makes options.warmup calls. Collective.
  void warm_up() const;
  /// Makes this many timed calls. Collective.
  void add(int calls);
  /// Collective; returns the same times of all timed calls on every rank.
  Times times() const;

 private:
  /// The time of one rank in a call, by its clock.
  struct Interval {
    double begin, end;
  };
  static double combined(const std::vector<Interval>& ranks, const std::string& how);

  Ranks& ranks_;
  const Options& options_;
  std::function<void()> prepare_;
  std::function<void()> call_;
  std::vector<Interval> calls_;
};

/// Returns how many of the calls belong to this of `rounds` rounds. The rounds differ by one call
/// at most, and add up to `calls`.
constexpr int calls_of_round(int calls, int round, int rounds) {
  const auto before = [&](std::int64_t r) { return calls * r / rounds; };
  return static_cast<int>(before(round + 1) - before(round));
}

/// Makes options.warmup calls, then options.iterations timed ones. Collective.
Times measure(Ranks& ranks, const Options& options, const std::function<void()>& prepare,
              const std::function<void()>& call);

}  // namespace sparsecoll::perf
