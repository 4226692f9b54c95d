// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <sparsecoll/sparsecoll.h>

#include <cinttypes>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace train {
namespace {

/// Returns k / n. Some modes send all entries and ignore --density.
double density_of(const Options& options) {
  const bool sends_all =
      options.mode == Mode::dense || options.mode == Mode::sgp || options.mode == Mode::osgp;
  return sends_all ? 1.0 : options.density;
}

std::string version() {
  int version = 0;
  sparsecollGetVersion(&version);
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace

Report::Report(const Options& options, int ranks, std::size_t count)
    : options_(options), count_(count) {
  if (!options.json_file.empty()) {
    json_.open(options.json_file, std::ios::app);
    if (!json_) throw std::runtime_error("cannot write " + options.json_file);
  }
  std::printf("# %s over %d %s ranks, %zu parameters, density %g, seed %" PRIu64 "\n",
              name_of(options.mode).c_str(), ranks, name_of(options.transport).c_str(), count,
              density_of(options), options.seed);
  std::printf("%7s %7s %10s %12s %16s %9s %9s %9s %9s\n", "epoch", "step", "loss", "accuracy %",
              "sent B/rank", "seconds", "compute", "calls", "elapsed");
}

void Report::announce(const std::string& news) {
  std::printf("# %s\n", news.c_str());
  std::fflush(stdout);
}

void Report::add(const Row& row) {
  std::printf("%7.4g %7zu %10.5f %12.2f %16" PRIu64 " %9.3f %9.3f %9.3f %9.3f\n", row.epoch,
              row.step, row.loss, 100 * row.accuracy, row.bytes_sent, row.seconds, row.compute,
              row.calls, row.elapsed);
  std::fflush(stdout);
  if (!json_.is_open()) return;
  char parameters[17];
  std::snprintf(parameters, sizeof parameters, "%016" PRIx64, row.parameters);
  nlohmann::json line = {{"program", "train_digits"},
                         {"version", version()},
                         {"mode", name_of(options_.mode)},
                         {"transport", name_of(options_.transport)},
                         {"memory", name_of(options_.memory)},
                         {"ranks", row.ranks},
                         {"hidden", options_.hidden},
                         {"count", count_},
                         {"density", density_of(options_)},
                         {"seed", options_.seed},
                         {"batch", options_.batch},
                         {"learning_rate", options_.learning_rate},
                         {"momentum", options_.momentum},
                         {"warm_up", options_.warm_up},
                         {"images", options_.validate ? "held out" : "test"},
                         {"epoch", row.epoch},
                         {"step", row.step},
                         {"loss", row.loss},
                         {"accuracy", row.accuracy},
                         {"own_accuracy", row.own_accuracy},
                         {"bytes_sent", row.bytes_sent},
                         {"elapsed", row.elapsed},
                         {"seconds", row.seconds},
                         {"compute_seconds", row.compute},
                         {"compute_cpu_seconds", row.compute_cpu},
                         {"call_seconds", row.calls},
                         {"select_seconds", row.select},
                         {"wait_seconds", row.wait},
                         {"parameters", parameters}};
  if (!options_.network.empty()) line["network"] = options_.network;
  json_ << line.dump() << '\n' << std::flush;
  if (!json_) throw std::runtime_error("cannot write " + options_.json_file);
}

}  // namespace train
