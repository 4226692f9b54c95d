// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/network/cost_model.hpp"

#include <algorithm>
#include <cmath>

#include "core/types.hpp"

namespace sparsecoll {

namespace {

/// Interpolates log2 linearly between powers of two. Unlike std::log2() this gives the same bits on
/// every processor, so that all ranks choose the same algorithm.
double approximate_log2(double x) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);  // x = mantissa 2^exponent, in [0.5, 1)
  return exponent - 1 + (2 * mantissa - 1);
}

}  // namespace

bool ProblemSize::entries_unknown() const { return k == kAll && entries == 0; }

EntryCounts entry_counts(const ProblemSize& size) {
  const double ranks = size.ranks, n = static_cast<double>(size.count);
  const bool counted = size.k == kAll || (size.selects_all && size.entries > 0);
  const double own = std::min(
      counted ? static_cast<double>(size.entries) / ranks : static_cast<double>(size.k), n);
  const double all = std::min(own * ranks, n);
  const double sum = size.result > 0 ? std::min(static_cast<double>(size.result), all) : all;
  return {own, counted ? sum : own, all};
}

double rounds_of(int ranks) { return ceil_log2(static_cast<uint64_t>(ranks)); }

double bytes_of(double entries, const ProblemSize& size) {
  if (entries == 0) return 0;
  const double n = static_cast<double>(size.count);
  const double index_bits = std::min(2 + approximate_log2(n / entries), n / entries);
  return entries * (static_cast<double>(size.value_size) + index_bits / 8);
}

double latency_of(double messages, double alpha) {
  return messages > 0 ? std::max(1.0, messages / 4) * alpha : 0;
}

double reduce_and_gather_seconds(double own, double result, const ProblemSize& size,
                                 const Network& network) {
  const double ranks = size.ranks;
  const auto [alpha, beta, gamma] = network;
  return latency_of(ranks - 1, alpha) + rounds_of(size.ranks) * alpha +
         (ranks - 1) / ranks *
             ((bytes_of(own, size) + bytes_of(result, size)) * beta + (own + result / 2) * gamma);
}

}  // namespace sparsecoll
