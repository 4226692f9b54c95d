// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// sparsecoll-tune: whether sparse allreduces pay on this cluster.
#include <algorithm>
#include <cstdio>
#include <exception>

#include "report.hpp"

using namespace sparsecoll::tune;
namespace perf = sparsecoll::perf;

namespace {

/// Predicts for one length. With --check, measures it, too. Collective.
Advice advise(const Options& options, const Measured& measured, const Predictor& predictor,
              perf::Ranks& ranks, std::size_t count) {
  Advice advice;
  advice.count = count;
  for (const double density : options.densities)
    advice.rows.push_back(predictor.predict(count, density));
  advice.break_even = predictor.break_even(count);
  const auto dense = std::ranges::find(measured.dense, count, &Timed::count);
  if (!options.check || dense == measured.dense.end()) return advice;
  advice.dense_measured = dense->seconds;
  for (Prediction& row : advice.rows) row.measured = measure_call(options, ranks, count, row.k);
  return advice;
}

int run(const Options& options, perf::Ranks& ranks) {
  const Measured measured = measure(options, ranks);
  const Predictor predictor(options, measured);
  std::vector<Advice> advice;
  for (const std::size_t count : options.counts)
    advice.push_back(advise(options, measured, predictor, ranks, count));
  if (ranks.rank() != 0) return 0;
  if (options.json)
    std::puts(json_of(measured, predictor, advice).dump(2).c_str());
  else
    std::fputs(text_of(measured, predictor, advice).c_str(), stdout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int status = 0;
  const std::optional<Options> options = parse(argc, argv, &status);
  if (!options) return status;
  return perf::launch(options->world, [&](perf::Ranks& ranks) { return run(*options, ranks); });
}
