// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/ranks.hpp"

namespace sparsecoll::tune {

struct Options {
  std::vector<std::size_t> counts{std::size_t{1} << 20, std::size_t{1} << 24};
  std::vector<double> densities{0.0001, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3};
  perf::World world;
  int ranks = 0;                  ///< for which times are predicted; 0: those that run
  std::optional<double> rate;     ///< bits per second, instead of the measured rate
  std::optional<double> latency;  ///< seconds, instead of the measured latency
  bool reordered = false;         ///< allows algorithms that add in another order
  bool check = false;             ///< measures what is predicted, too
  bool json = false;
};

/// Parses the command line. Prints help or an error and returns nothing if the program shall end
/// with `status`.
std::optional<Options> parse(int argc, char** argv, int* status);

}  // namespace sparsecoll::tune
