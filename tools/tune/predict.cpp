// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "predict.hpp"

#include <algorithm>
#include <cmath>

#include "collectives/registry.hpp"

namespace sparsecoll::tune {

namespace {

/// Ranks for which times are predicted if there is only one, and none are named.
constexpr int kUsualRanks = 8;

/// Returns the share of a vector that a rank sends in a reduce-scatter.
double sent_share(int ranks) { return static_cast<double>(ranks - 1) / ranks; }

}  // namespace

Predictor::Predictor(const Options& options, const Measured& measured)
    : measured_(measured),
      densities_(options.densities),
      ranks_(options.ranks > 0    ? options.ranks
             : measured.ranks > 1 ? measured.ranks
                                  : kUsualRanks),
      network_(measured.network.value_or(kCommodity)),
      source_(measured.network ? "measured" : "assumed") {
  if (options.latency) network_.alpha = *options.latency;
  if (options.rate) network_.beta = 8 / *options.rate;
  if (options.latency || options.rate) source_ = "given";
  dense_is_measured_ = !measured.dense.empty() && !options.latency && !options.rate;
}

Prediction Predictor::predict(std::size_t count, double density) const {
  Prediction result;
  result.count = count;
  result.density = density;
  result.k = entries_of(density, count);
  ProblemSize size{ranks_, count, result.k, sizeof(float),
                   result.k * static_cast<std::uint64_t>(ranks_)};
  if (ranks_ == measured_.ranks && measured_.nodes) size.nodes = &*measured_.nodes;
  const Algorithm& algorithm = choose_algorithm(size, network_);
  result.algorithm = algorithm_info(static_cast<int>(algorithm.id))->name;
  result.exchange =
      algorithm.seconds(size, {network_.alpha, network_.beta, measured_.entry_seconds});
  result.local = local(count, density);
  result.dense = dense(count);
  return result;
}

/// Between two measured lengths the time grows linearly, and beyond the longest in proportion to
/// the length. For another number of ranks it grows as the bytes that a rank sends.
double Predictor::dense(std::size_t count) const {
  if (!dense_is_measured_) {
    const ProblemSize size{ranks_, count, count, sizeof(float), 0};
    return predicted_seconds(AlgorithmId::dense, size, network_);
  }
  const double more_ranks = sent_share(ranks_) / sent_share(measured_.ranks);
  const auto after = std::ranges::lower_bound(measured_.dense, count, {}, &Timed::count);
  const Timed& right = after == measured_.dense.end() ? measured_.dense.back() : *after;
  const double n = static_cast<double>(count), end = static_cast<double>(right.count);
  if (after == measured_.dense.begin() || after == measured_.dense.end())
    return right.seconds * n / end * more_ranks;
  const Timed& left = *std::prev(after);
  const double begin = static_cast<double>(left.count);
  return std::lerp(left.seconds, right.seconds, (n - begin) / (end - begin)) * more_ranks;
}

/// The time is proportional to the length, and between two measured densities it grows linearly
/// with the logarithm of the density.
double Predictor::local(std::size_t count, double density) const {
  std::vector<const LocalWork*>
      nearest;  // those of the length that is nearest to `count`, by density
  for (const LocalWork& work : measured_.local) {
    if (!nearest.empty() && nearest.front()->timed.count != work.timed.count) {
      if (work.timed.count > count) break;
      nearest.clear();
    }
    nearest.push_back(&work);
  }
  const auto after = std::ranges::lower_bound(nearest, density, {}, &LocalWork::density);
  const LocalWork& right = after == nearest.end() ? *nearest.back() : **after;
  const LocalWork& left =
      after == nearest.end() || after == nearest.begin() ? right : **std::prev(after);
  const double step = std::log(right.density / left.density);
  const double part = step > 0 ? std::log(density / left.density) / step : 0;
  return std::lerp(left.timed.seconds, right.timed.seconds, part) * static_cast<double>(count) /
         static_cast<double>(right.timed.count);
}

std::optional<double> Predictor::break_even(std::size_t count) const {
  constexpr double kStep = 1.05;
  const auto pays = [&](double density) { return predict(count, density).speed_up() >= 1; };
  const auto last = std::ranges::find_if(densities_.rbegin(), densities_.rend(), pays);
  if (last == densities_.rend()) return std::nullopt;
  // The limit may be between two of the densities.
  for (double density = densities_.back(); density > *last; density /= kStep)
    if (pays(density)) return density;
  return *last;
}

}  // namespace sparsecoll::tune
