// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Data-parallel training with LibTorch; see README.md.
// These files call sparsecoll, and can be copied into other programs:
//   gradient_buckets.cpp   the mean of all gradients, beside the backward pass
//   push_sum_model.cpp     push-sum: neighbours average their models
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "ranks.h"
#include "trainer.h"

namespace {

using namespace train;

constexpr double kTolerance = 1.0;     // percentage points
constexpr double kDenseLearns = 95.0;  // percent; the comparison is meaningless below

struct Options {
  Settings settings;
  int ranks = 4;
  bool mpi = false;
  bool validate = false;
  std::size_t seeds = 1;
  std::string data = TRAIN_TORCH_DATA;
};

Dataset load(const Options& options) {
  const std::filesystem::path folder = options.data;
  Dataset data{load_digits(folder / "optdigits.tra"), load_digits(folder / "optdigits.tes")};
  if (!options.validate) return data;
  std::vector<std::size_t> numbers(data.training.count());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  const std::span all(numbers);
  const std::size_t kept = numbers.size() / 4 * 3;
  return {select(data.training, all.first(kept)), select(data.training, all.subspan(kept))};
}

/// Returns the means over the seeds.
Outcome train_all_seeds(const Mode& mode, const Options& options, const Dataset& data,
                        Ranks& ranks) {
  Outcome mean;
  Settings settings = options.settings;
  for (std::size_t i = 0; i < options.seeds; ++i, ++settings.seed) {
    const Outcome outcome = ranks.run(config_for(mode, settings), [&](auto& comm) {
      return train::train(mode, settings, data, comm);
    });
    const auto share = 1.0 / static_cast<double>(options.seeds);
    mean.accuracy += share * outcome.accuracy;
    mean.loss += share * outcome.loss;
    mean.bytes_sent += outcome.bytes_sent / options.seeds;
    mean.seconds += share * outcome.seconds;
    mean.waiting += share * outcome.waiting;
  }
  return mean;
}

/// Trains in all modes and prints a table. Returns whether all modes are as accurate as dense.
bool compare(const Options& options) {
  const std::unique_ptr<Ranks> ranks = options.mpi ? make_processes() : make_threads(options.ranks);
  const Dataset data = load(options);
  if (ranks->reports())
    std::printf("%-8s %10s %9s %8s %12s %9s %9s\n", "mode", "accuracy %", "to dense", "loss",
                "sent B", "seconds", "waiting");
  bool good = true;
  double dense = 0;
  for (const Mode& mode : all_modes()) {
    const Outcome outcome = train_all_seeds(mode, options, data, *ranks);
    const double accuracy = 100 * outcome.accuracy;
    if (mode.dense) dense = accuracy;
    if (std::abs(accuracy - dense) > kTolerance || dense < kDenseLearns) good = false;
    if (!ranks->reports()) continue;
    std::printf("%-8s %10.2f %+9.2f %8.4f %12llu %9.2f %9.2f\n", mode.name, accuracy,
                accuracy - dense, outcome.loss, static_cast<unsigned long long>(outcome.bytes_sent),
                outcome.seconds, outcome.waiting);
    std::fflush(stdout);
  }
  if (!good && ranks->reports())
    std::printf("dense is below %.1f%%, or a mode is more than %.1f points away from it\n",
                kDenseLearns, kTolerance);
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  Settings& settings = options.settings;
  CLI::App app(
      "Trains a convolutional network on digits in every mode, and fails if a mode is not "
      "as accurate as dense");
  app.add_option("--ranks", options.ranks, "ranks, as threads")->capture_default_str();
  app.add_flag("--mpi", options.mpi, "ranks are the processes of mpirun");
  app.add_option("--epochs", settings.epochs)->capture_default_str();
  app.add_option("--batch", settings.batch, "images per rank and step")->capture_default_str();
  app.add_option("--seed", settings.seed, "the first seed")->capture_default_str();
  app.add_option("--seeds", options.seeds, "so many seeds; their means count")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--density", settings.density, "k / n")->capture_default_str();
  app.add_option("--dense-below", settings.dense_below, "smaller parameters are sent whole")
      ->capture_default_str();
  app.add_option("--rate", settings.learning_rate)->capture_default_str();
  app.add_option("--momentum", settings.momentum)->capture_default_str();
  app.add_flag("--validate", options.validate, "test on training images that are held out");
  app.add_option("--data", options.data, "the folder of the images")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return compare(options) ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_torch: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
