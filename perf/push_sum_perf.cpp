// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Measures pushSumStep: the estimates' distance from the mean against steps and time, and with
// --slow what a slow rank costs, beside dense allreduces.
#include "common/ranks.hpp"
#include "push_sum/consensus.hpp"

namespace perf = sparsecoll::perf;

int main(int argc, char** argv) {
  int status = 0;
  const auto options = perf::parse_push_sum(argc, argv, &status);
  if (!options) return status;
  return perf::launch(options->run.transport, options->run.threads, [&](perf::Ranks& ranks) {
    return options->slow ? perf::measure_slow_rank(*options, ranks)
                         : perf::measure_consensus(*options, ranks);
  });
}
