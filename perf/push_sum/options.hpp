// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sparsecoll/sparsecoll.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/options.hpp"

namespace sparsecoll::perf {

/// The values of the command line of push_sum_perf.
struct PushSumOptions {
  Options run;  ///< the options that all programs have
  std::vector<std::string> graphs{"exponential"};
  std::vector<int> delays{0};
  std::vector<double> densities{0};  ///< k/n of compressed gossip; 0: everything is sent
  double mixing = 0.5;
  int steps = 60;
  bool slow = false;       ///< measure a slow rank instead of consensus
  double work_ms = 10;     ///< with `slow`: work of a rank in a step, in milliseconds
  double slow_factor = 3;  ///< with `slow`: factor by which the slow rank's work is longer
};

/// Parses the command line like parse().
std::optional<PushSumOptions> parse_push_sum(int argc, char** argv, int* status);

/// Returns the configuration of a graph: "exponential", "npeer:3", "ring" or "bipartite". Throws
/// std::invalid_argument for another name.
sparsecollPushSumConfig_t push_sum_config(const std::string& graph, int delay);

}  // namespace sparsecoll::perf
