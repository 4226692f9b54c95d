// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/timing.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sparsecoll::perf {
namespace {

/// The time of one rank in a call, by its clock.
struct Interval {
  double begin, end;
};

/// Throws unless all ranks run on one machine, whose clock they read.
void require_one_clock(Ranks& ranks) {
  std::array<char, 40> boot{};
  std::ifstream("/proc/sys/kernel/random/boot_id").getline(boot.data(), boot.size());
  for (const auto& other : ranks.gather_value(boot)) {
    if (boot[0] == '\0' || other != boot)
      throw std::runtime_error("-a makespan: needs ranks of one machine, which share a clock");
  }
}

/// Returns the time of a call, by the ranks' times.
double combined(std::span<const Interval> ranks, const std::string& how) {
  double first = ranks[0].begin, last = ranks[0].end, sum = 0;
  double least = last - first, most = least;
  for (const Interval& rank : ranks) {
    const double time = rank.end - rank.begin;
    first = std::min(first, rank.begin);
    last = std::max(last, rank.end);
    least = std::min(least, time);
    most = std::max(most, time);
    sum += time;
  }
  if (how == kMakespan) return last - first;
  if (how == "min") return least;
  return how == "max" ? most : sum / static_cast<double>(ranks.size());
}

}  // namespace

Times summary(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  const std::size_t half = seconds.size() / 2;
  Times times;
  times.average =
      std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
  times.minimum = seconds.front();
  times.median = seconds.size() % 2 == 1 ? seconds[half] : (seconds[half - 1] + seconds[half]) / 2;
  times.maximum = seconds.back();
  return times;
}

Times measure(Ranks& ranks, const Options& options, const std::function<void()>& prepare,
              const std::function<void()>& call) {
  if (options.combine == kMakespan) require_one_clock(ranks);
  for (int i = 0; i < options.warmup; ++i) {
    prepare();
    call();
  }
  std::vector<Interval> mine;
  for (int i = 0; i < options.iterations; ++i) {
    prepare();
    ranks.barrier();
    const double begin = ranks.now();
    call();
    mine.push_back({begin, ranks.now()});
  }
  const auto all = ranks.gather(std::span<const Interval>(mine));
  std::vector<double> calls;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    std::vector<Interval> of_ranks;
    for (const std::vector<Interval>& rank : all) of_ranks.push_back(rank[i]);
    calls.push_back(combined(of_ranks, options.combine));
  }
  return summary(std::move(calls));
}

}  // namespace sparsecoll::perf
