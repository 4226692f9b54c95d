// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "simulated/options.hpp"

#include <cstdio>

#include "common/command_line.hpp"

namespace sparsecoll::perf {
namespace {

constexpr const char* kNames[] = {"--rate",           "--latency", "--overhead", "--byte-overhead",
                                  "--ranks-per-node", "--cores",   "--compute"};

}  // namespace

void add_network(CLI::App& app, NetworkModel& model) {
  app.add_option("--rate", model.rate, "simulated: rate of each node's link, in each direction")
      ->transform(rate_value())
      ->check(CLI::Range(1.0, 1e15))
      ->default_str("1gbit");
  app.add_option("--latency", model.latency, "simulated: latency from node to node")
      ->transform(time_value())
      ->default_str("50us");
  app.add_option("--overhead", model.overhead,
                 "simulated: processor time of a message at each of its ends")
      ->transform(time_value())
      ->default_str("1us");
  app.add_option("--byte-overhead", model.byte_overhead,
                 "simulated: processor time of each byte at both ends")
      ->transform(time_value())
      ->default_str("0ns");
  app.add_option("--ranks-per-node", model.ranks_per_node, "simulated: ranks that share a link")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--cores", model.cores,
                 "simulated: cores that all ranks compute on; 0: one for each rank")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_option_function<int>(
         "--compute", [&model](const int& given) { model.compute = given != 0; },
         "simulated: 1: computing takes the processor time that it takes here; 0: it takes no time")
      ->check(CLI::IsMember(std::vector<int>{0, 1}))
      ->default_str("1");
}

void check_network(const CLI::App& app, const std::string& transport) {
  for (const char* name : kNames)
    if (transport != "simulated" && app.count(name) > 0)
      throw CLI::ValidationError(name, "needs --transport simulated");
}

std::string describe(const NetworkModel& model) {
  char text[200];
  std::snprintf(text, sizeof text,
                "simulated: %g Gbit/s a link, latency %g us, overhead %g us and %g ns a byte, %d "
                "rank%s a node, ",
                model.rate / 1e9, model.latency * 1e6, model.overhead * 1e6,
                model.byte_overhead * 1e9, model.ranks_per_node,
                model.ranks_per_node == 1 ? "" : "s");
  std::string cores = "one core a rank";
  if (model.cores > 0) {
    char number[32];
    std::snprintf(number, sizeof number, "%g cores in all", model.cores);
    cores = number;
  }
  return text + (model.compute ? cores : "computing takes no time");
}

}  // namespace sparsecoll::perf
