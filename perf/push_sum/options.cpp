// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "push_sum/options.hpp"

#include <sparsecoll/sparsecoll.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "common/command_line.hpp"
#include "common/ranks.hpp"
#include "simulated/options.hpp"

namespace sparsecoll::perf {
namespace {

constexpr const char* kExamples = R"(
  mpirun -n 8 push_sum_perf --graph exponential,ring --delay 0,2
  push_sum_perf --transport local -t 8 -n 40 --density 0,0.1 -b 1M
  mpirun -n 8 push_sum_perf --slow --work 20 --delay 0,2,-1   # the cost of a slow rank)";

constexpr const char* kGraphWords = "exponential, npeer:P, ring or bipartite";

std::string check_graph(const std::string& name) {
  try {
    push_sum_config(name, 0);
    return "";
  } catch (const std::exception&) {
    return name + " is no graph: " + kGraphWords;
  }
}

void add_options(CLI::App& app, PushSumOptions& o) {
  const auto size = size_value();
  app.add_option("-b,--minbytes", o.run.min_bytes, "smallest vector, bytes (K, M, G)")
      ->transform(size)
      ->default_str("64K");
  app.add_option("-e,--maxbytes", o.run.max_bytes, "largest vector, bytes (K, M, G)")
      ->transform(size)
      ->default_str("64K");
  app.add_option("-f,--stepfactor", o.run.factor, "factor between sizes, above 1")
      ->check(CLI::Range(1.001, 1e9))
      ->capture_default_str();
  app.add_option("-n,--steps", o.steps, "steps of a run")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option_function<int>(
         "-c,--check", [&o](const int& given) { o.run.check = given != 0; },
         "drain at the end and check that the sums of x and w have not changed, up to rounding")
      ->check(CLI::IsMember(std::vector<int>{0, 1}))
      ->default_str("1");
  app.add_option("--graph", o.graphs, std::string("comma separated: ") + kGraphWords)
      ->delimiter(',')
      ->check(CLI::Validator(check_graph, "GRAPH"))
      ->capture_default_str();
  app.add_option("--delay", o.delays, "maxDelay, comma separated; -1 = a step never waits")
      ->delimiter(',')
      ->check(CLI::Range(-1, 1000000))
      ->capture_default_str();
  app.add_option("--density", o.densities, "k/n, comma separated; 0 = everything is sent")
      ->delimiter(',')
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--mixing", o.mixing, "gamma of compressed gossip")
      ->check(CLI::Range(1e-6, 1.0))
      ->capture_default_str();
  app.add_flag("--slow", o.slow,
               "measure a slow rank: ranks sleep in each step instead of working, a random one "
               "longer; measures dense allreduces, too");
  app.add_option("--work", o.work_ms, "with --slow: a rank's work in a step, milliseconds")
      ->check(CLI::Range(0.01, 1e6))
      ->capture_default_str();
  app.add_option("--slow-factor", o.slow_factor,
                 "with --slow: factor by which the slow rank works longer")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  app.add_option("--seed", o.run.seed, "seed of the vectors and of the choice of slow ranks")
      ->capture_default_str();
  app.add_option("-d,--datatype", o.run.datatype)
      ->check(CLI::IsMember(std::vector<std::string>{"float32", "float64"}))
      ->capture_default_str();
  app.add_option("--transport", o.run.transport, kTransportWords)
      ->check(CLI::IsMember(transports()))
      ->default_str(transports().front());
  add_network(app, o.run.network);
  app.add_option("-t,--nthreads,--ranks", o.run.threads,
                 "ranks of --transport local, simulated and nccl")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--memory", o.run.memory, "memory of the vectors")
      ->check(CLI::IsMember(std::vector<std::string>{"host", "device"}))
      ->capture_default_str();
  app.add_option("-J,--output_file", o.run.json, "write the rows as JSON, one object per line");
}

}  // namespace

sparsecollPushSumConfig_t push_sum_config(const std::string& graph, int delay) {
  sparsecollPushSumConfig_t config = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
  config.maxDelay = delay;
  if (graph == "exponential") return config;
  if (graph == "ring" || graph == "bipartite") {
    config.graph = graph == "ring" ? sparsecollGraphRing : sparsecollGraphBipartiteExponential;
    return config;
  }
  if (graph.rfind("npeer:", 0) != 0) throw std::invalid_argument(graph);
  config.graph = sparsecollGraphNPeerExponential;
  config.peers = std::stoi(graph.substr(6));
  if (config.peers < 1) throw std::invalid_argument(graph);
  return config;
}

std::optional<PushSumOptions> parse_push_sum(int argc, char** argv, int* status) {
  PushSumOptions options;
  options.run.program = "push_sum_perf";
  options.run.min_bytes = options.run.max_bytes = std::size_t{64} << 10;
  CLI::App app(
      "Measures how fast pushSumStep brings the ranks to their mean, and the cost of a slow rank.",
      options.run.program);
  add_options(app, options);
  const auto complete = [&] {
    if (options.run.min_bytes > options.run.max_bytes)
      options.run.max_bytes = options.run.min_bytes;
    if (options.run.transport.empty()) options.run.transport = transports().front();
    check_transport(options.run);
    check_network(app, options.run.transport);
  };
  if (!parse_command_line(app, argc, argv, kExamples, complete, status)) return std::nullopt;
  return options;
}

}  // namespace sparsecoll::perf
