// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Checks the number of ranks against what the configuration and the launcher say.
#include "api/config.hpp"
#include "core/environment.hpp"
#include "core/whole_number.hpp"

namespace sparsecoll {

std::optional<LaunchedRanks> launched_ranks() {
  for (const char* variable : {"WORLD_SIZE", "SLURM_NTASKS", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE"}) {
    const auto count = whole_number<int>(environment(variable).value_or(""));
    if (count > 1) return LaunchedRanks{variable, *count};
  }
  return std::nullopt;
}

void check_expected_ranks(const Config& config, int ranks) {
  const int expected = config.values.expectedRanks;
  if (expected == 0 || expected == ranks) return;
  fail(
      sparsecollInvalidUsage, "config.expectedRanks (SPARSECOLL_EXPECTED_RANKS): expected ",
      expected, " ranks, got ", ranks,
      config.launched ? text("; ", config.launched->variable, " is ", config.launched->count) : "");
}

std::optional<std::string> warning_of_one_rank(const Config& config) {
  if (!config.launched || config.values.expectedRanks == 1) return std::nullopt;
  return text("MPI has one rank here, but ", config.launched->variable, " is ",
              config.launched->count,
              ": each process has a communicator of its own, and nothing is summed");
}

}  // namespace sparsecoll
