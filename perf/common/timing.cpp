// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/timing.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace sparsecoll::perf {

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
  for (int i = 0; i < options.warmup; ++i) {
    prepare();
    call();
  }
  std::vector<double> mine;
  for (int i = 0; i < options.iterations; ++i) {
    prepare();
    ranks.barrier();
    const double start = ranks.now();
    call();
    mine.push_back(ranks.now() - start);
  }
  const auto all = ranks.gather(std::span<const double>(mine));
  std::vector<double> calls;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    std::vector<double> of_ranks;
    for (const std::vector<double>& rank : all) of_ranks.push_back(rank[i]);
    const auto [least, most] = std::ranges::minmax(of_ranks);
    const double mean = std::accumulate(of_ranks.begin(), of_ranks.end(), 0.0) /
                        static_cast<double>(of_ranks.size());
    calls.push_back(options.combine == "min" ? least : options.combine == "max" ? most : mean);
  }
  return summary(std::move(calls));
}

}  // namespace sparsecoll::perf
