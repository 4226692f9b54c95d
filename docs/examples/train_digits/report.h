// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>

#include "options.h"

namespace train {

/// What one epoch came to, over all ranks.
struct EpochResult {
  std::size_t epoch;         // 1, 2, ...
  double loss;               // mean training loss during the epoch
  double accuracy;           // of the model of all ranks after it, 0 to 1
  double own_accuracy;       // of the ranks' own models, each on its share of the images
  std::uint64_t bytes_sent;  // since the first step, by the rank that sent most
  double seconds;            // of training in this epoch, without the test; the slowest rank's
  std::uint64_t parameters;  // hash of all parameters after it
};

/// A table on stdout and JSON lines in a file. One rank of the job makes one.
class Report {
 public:
  Report(const Options& options, int ranks, std::size_t count);
  void add(const EpochResult& result);

 private:
  const Options& options_;
  int ranks_;
  std::ofstream json_;
};

}  // namespace train
