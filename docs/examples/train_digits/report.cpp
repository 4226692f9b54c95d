// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <cinttypes>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace train {
namespace {

/// These ship every entry, whatever --density says.
double density_of(const Options& options) {
  const bool whole =
      options.mode == Mode::dense || options.mode == Mode::sgp || options.mode == Mode::osgp;
  return whole ? 1.0 : options.density;
}

}  // namespace

Report::Report(const Options& options, int ranks, std::size_t count)
    : options_(options), ranks_(ranks) {
  if (!options.json_file.empty()) {
    json_.open(options.json_file, std::ios::app);
    if (!json_) throw std::runtime_error("cannot write " + options.json_file);
  }
  std::printf("# %s over %d %s ranks, %zu parameters, density %g, seed %" PRIu64 "\n",
              name_of(options.mode).c_str(), ranks, name_of(options.transport).c_str(), count,
              density_of(options), options.seed);
  std::printf("%5s %10s %12s %16s %9s\n", "epoch", "loss", "accuracy %", "sent B/rank", "seconds");
}

void Report::add(const EpochResult& result) {
  std::printf("%5zu %10.5f %12.2f %16" PRIu64 " %9.3f\n", result.epoch, result.loss,
              100 * result.accuracy, result.bytes_sent, result.seconds);
  std::fflush(stdout);
  if (!json_.is_open()) return;
  char parameters[17];
  std::snprintf(parameters, sizeof parameters, "%016" PRIx64, result.parameters);
  const nlohmann::json line = {{"program", "train_digits"},
                               {"mode", name_of(options_.mode)},
                               {"transport", name_of(options_.transport)},
                               {"memory", name_of(options_.memory)},
                               {"ranks", ranks_},
                               {"density", density_of(options_)},
                               {"seed", options_.seed},
                               {"batch", options_.batch},
                               {"learning_rate", options_.learning_rate},
                               {"momentum", options_.momentum},
                               {"warm_up", options_.warm_up},
                               {"images", options_.validate ? "held out" : "test"},
                               {"epoch", result.epoch},
                               {"loss", result.loss},
                               {"accuracy", result.accuracy},
                               {"own_accuracy", result.own_accuracy},
                               {"bytes_sent", result.bytes_sent},
                               {"seconds", result.seconds},
                               {"parameters", parameters}};
  json_ << line.dump() << '\n' << std::flush;
  if (!json_) throw std::runtime_error("cannot write " + options_.json_file);
}

}  // namespace train
