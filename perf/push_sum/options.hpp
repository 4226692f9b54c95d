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

/// The command line of push_sum_perf.
struct PushSumOptions {
  Options run;  ///< what all programs have
  std::vector<std::string> graphs{"exponential"};
  std::vector<int> delays{0};
  std::vector<double> densities{0};  ///< k/n of compressed gossip; 0 = everything is sent
  double mixing = 0.5;
  int steps = 60;
  bool slow = false;       ///< the slow-rank experiment instead of consensus
  double work_ms = 10;     ///< a rank's work in a step of it
  double slow_factor = 3;  ///< how many times as long the slow one takes
};

/// As perf::parse().
std::optional<PushSumOptions> parse_push_sum(int argc, char** argv, int* status);

/// A configuration of the library: "ring", "npeer:3" and so on.
sparsecollPushSumConfig_t push_sum_config(const std::string& graph, int delay);

}  // namespace sparsecoll::perf
