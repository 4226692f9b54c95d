// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "soak/options.hpp"

#include <CLI/CLI.hpp>

namespace sparsecoll::soak {

Options parse(const std::string& what, int argc, char** argv, bool threads) {
  Options options;
  CLI::App app(what);
  app.add_option("--seed", options.seed, "everything but the timing follows from it");
  app.add_option("--calls", options.calls, "the job ends after so many collective calls");
  app.add_option("--timeout-ms", options.timeout_ms, "deadline of a call")
      ->check(CLI::PositiveNumber);
  app.add_option(
      "--slack", options.slack,
      "seconds that a call may take beyond its deadline, besides the delays by the machine");
  app.add_option("--faults", options.faults, "percent of the communicators on which a rank fails")
      ->check(CLI::Range(0, 100));
  app.add_option("--kills", options.kills, "percent of the failing ranks that die")
      ->check(CLI::Range(0, 100));
  app.add_option("--folder", options.folder, "for reports and saved residuals")
      ->check(CLI::ExistingDirectory);
  if (threads)
    app.add_option("--ranks", options.ranks, "number of ranks")->check(CLI::Range(2, 64));
  else
    app.add_flag("--ucx", options.ucx, "the library sends over UCX");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return options;
}

}  // namespace sparsecoll::soak
