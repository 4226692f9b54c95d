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

/// Throws unless all ranks run on one machine, whose clock they read.
void require_one_clock(Ranks& ranks) {
  std::array<char, 40> boot{};
  std::ifstream("/proc/sys/kernel/random/boot_id").getline(boot.data(), boot.size());
  for (const auto& other : ranks.gather_value(boot)) {
    if (boot[0] == '\0' || other != boot)
      throw std::runtime_error("-a makespan: needs ranks of one machine, which share a clock");
  }
}

}  // namespace

/// Returns the time of a call, by the ranks' times.
double Timing::combined(const std::vector<Interval>& ranks, const std::string& how) {
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

void Timing::warm_up() const {
  if (options_.combine == kMakespan) require_one_clock(ranks_);
  for (int i = 0; i < options_.warmup; ++i) {
    prepare_();
    call_();
  }
}

void Timing::add(int calls) {
  for (int i = 0; i < calls; ++i) {
    prepare_();
    ranks_.barrier();
    const double begin = ranks_.now();
    call_();
    calls_.push_back({begin, ranks_.now()});
  }
}

Times Timing::times() const {
  const auto all = ranks_.gather(std::span<const Interval>(calls_));
  std::vector<double> seconds;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    std::vector<Interval> of_ranks;
    for (const std::vector<Interval>& rank : all) of_ranks.push_back(rank[i]);
    seconds.push_back(combined(of_ranks, options_.combine));
  }
  return summary(std::move(seconds));
}

Times measure(Ranks& ranks, const Options& options, const std::function<void()>& prepare,
              const std::function<void()>& call) {
  Timing timing(ranks, options, prepare, call);
  timing.warm_up();
  timing.add(options.iterations);
  return timing.times();
}

}  // namespace sparsecoll::perf
