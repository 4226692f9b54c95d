// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>

#include "options.h"

namespace train {

/// The state of the training over all ranks when the model is evaluated: at the end of an epoch,
/// and within one with --every. Times are training times in seconds, without evaluations.
struct Row {
  double epoch;              // number of epochs so far, with a fraction
  std::size_t step;          // number of steps so far
  int ranks;                 // that train now
  double loss;               // mean training loss since the previous row
  double accuracy;           // accuracy of the mean model, 0 to 1
  double own_accuracy;       // accuracy of the ranks' own models, each on its share of the images
  std::uint64_t bytes_sent;  // bytes that the rank that sent most has sent so far
  double elapsed;            // sum of `seconds` of all rows so far
  double seconds;            // time since the previous row, of the slowest rank
  // Parts of a rank's time, means over ranks. `compute` and `calls` add up to the whole.
  double compute;            // time outside sparsecoll's calls
  double compute_cpu;        // processor time of `compute`; less if ranks share cores
  double calls;              // time in sparsecoll's calls
  double select;             // part of `calls` for selection, measured by sparsecoll
  double wait;               // part of `calls` for messages, measured by sparsecoll
  std::uint64_t parameters;  // hash of all parameters
};

/// Writes a table to stdout and JSON lines to a file. Only rank 0 has one.
class Report {
 public:
  Report(const Options& options, int ranks, std::size_t count);
  void announce(const std::string& news);
  void add(const Row& row);

 private:
  const Options& options_;
  std::size_t count_;  // number of parameters
  std::ofstream json_;
};

}  // namespace train
