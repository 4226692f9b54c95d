// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "common/command_line.hpp"

namespace sparsecoll::tune {

namespace {

constexpr const char* kExamples = R"(
  mpirun -n 8 sparsecoll-tune                      # over MPI, compared with MPI_Allreduce
  mpirun -n 8 sparsecoll-tune -n 25M --check       # and how true it is
  perf/launch -n 4 sparsecoll-tune --json          # over UCX, without MPI
  mpirun -n 8 sparsecoll-tune --ranks 64           # more ranks on links like these
  sparsecoll-tune --ranks 64 --rate 10gbit --latency 20us   # a cluster that is not here)";

/// The transports that send between processes, and threads.
std::vector<std::string> transports() {
  std::vector<std::string> names = perf::transports();
  std::erase(names, "simulated");
  std::erase(names, "nccl");
  return names;
}

}  // namespace

std::optional<Options> parse(int argc, char** argv, int* status) {
  Options o;
  o.world.transport = perf::launched_without_mpi() ? "ucx" : transports().front();
  o.world.threads = 1;
  CLI::App app(
      "Measures this cluster, and predicts for which densities sparseAllreduce is faster than a "
      "dense allreduce, by which algorithm, and how much.",
      "sparsecoll-tune");
  app.add_option("-n,--count", o.counts, "float32 values, comma separated (K, M, G) [1M,16M]")
      ->delimiter(',')
      ->transform(perf::size_value())
      ->check(CLI::Range(std::size_t{1}, std::size_t{0xffffffff}));
  app.add_option("--density", o.densities, "k/n, comma separated [0.0001,0.001,...,0.3]")
      ->delimiter(',')
      ->check(CLI::Range(1e-9, 1.0));
  app.add_option("--ranks", o.ranks, "ranks for which times are predicted [those that run]")
      ->check(CLI::Range(2, 1 << 20));
  app.add_option("--rate", o.rate, "rate of a rank's link instead of the measured one")
      ->transform(perf::rate_value())
      ->check(CLI::Range(1.0, 1e15));
  app.add_option("--latency", o.latency, "time of a message instead of the measured one")
      ->transform(perf::time_value());
  app.add_flag("--reordered", o.reordered,
               "also algorithms that add in another order than that of the ranks (allowReordered)");
  app.add_flag("--check", o.check, "measure what is predicted, too");
  app.add_option("--transport", o.world.transport, "mpi, ucx, or local: ranks are threads")
      ->check(CLI::IsMember(transports()))
      ->capture_default_str();
  app.add_option("-t,--nthreads", o.world.threads, "ranks of --transport local")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_flag("--json", o.json, "write JSON");
  const auto complete = [&] {
    if (app.count("--nthreads") > 0 && o.world.transport != "local")
      throw CLI::ValidationError("--nthreads", "needs --transport local");
    if (o.check && (o.ranks > 0 || o.rate || o.latency))
      throw CLI::ValidationError("--check",
                                 "needs the cluster that is here: no --ranks, --rate, --latency");
    std::ranges::sort(o.counts);
    std::ranges::sort(o.densities);
  };
  if (!perf::parse_command_line(app, argc, argv, kExamples, complete, status)) return std::nullopt;
  return o;
}

}  // namespace sparsecoll::tune
