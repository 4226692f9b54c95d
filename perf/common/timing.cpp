// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/timing.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <span>
#include <vector>

namespace sparsecoll::perf {

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
    const auto start = std::chrono::steady_clock::now();
    call();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    mine.push_back(spent.count());
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
  std::ranges::sort(calls);
  const std::size_t half = calls.size() / 2;
  Times times;
  times.average =
      std::accumulate(calls.begin(), calls.end(), 0.0) / static_cast<double>(calls.size());
  times.minimum = calls.front();
  times.median = calls.size() % 2 == 1 ? calls[half] : (calls[half - 1] + calls[half]) / 2;
  times.maximum = calls.back();
  return times;
}

}  // namespace sparsecoll::perf
