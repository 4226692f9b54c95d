// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>

#include "options.h"

namespace train {

/// What training has come to over all ranks when the model is judged: at the end of an epoch, and
/// within one with --every. Times are those of training: judging is left out.
struct Row {
  double epoch;              // how many are done, with parts
  std::size_t step;          // how many are done
  double loss;               // mean training loss since the row before
  double accuracy;           // of the model of all ranks, 0 to 1
  double own_accuracy;       // of the ranks' own models, each on its share of the images
  std::uint64_t bytes_sent;  // since the first step, by the rank that sent most
  double elapsed;            // seconds since the first step: the sum of all rows' ...
  double seconds;            // ... since the row before, the slowest rank's
  // Parts of it, the mean over ranks. `compute` and `calls` are all of a rank's time.
  double compute;            // outside of sparsecoll's calls
  double compute_cpu;        // what this took of a core: less where ranks share cores
  double calls;              // in sparsecoll's calls
  double select;             // of them for selection, and ...
  double wait;               // ... for messages, as sparsecoll's own clocks say
  std::uint64_t parameters;  // hash of all parameters
};

/// A table on stdout and JSON lines in a file. One rank of the job makes one.
class Report {
 public:
  Report(const Options& options, int ranks, std::size_t count);
  void add(const Row& row);

 private:
  const Options& options_;
  int ranks_;
  std::size_t count_;  // parameters
  std::ofstream json_;
};

}  // namespace train
