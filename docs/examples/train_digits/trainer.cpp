// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "trainer.h"

#include <bit>
#include <chrono>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>

#include "network.h"
#include "random.h"
#include "reducer.h"
#include "report.h"

namespace train {
namespace {

// 64*512+512 + 512*160+160 + 160*10+10 = 116,970 parameters: far more than the task needs, so that
// 1% of them is still a thousand entries, as in the networks that sparse reduction is for.
const std::vector<std::size_t> kWidths = {kPixels, 512, 160, kClasses};

/// FNV-1a over the bits of all parameters.
std::uint64_t hash(std::span<const float> parameters) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const float parameter : parameters) {
    hash = (hash ^ std::bit_cast<std::uint32_t>(parameter)) * 0x100000001B3u;
  }
  return hash;
}

/// Raw little-endian float32, as `--data` of the programs in perf/ reads it.
void dump(std::span<const float> gradient, const std::string& file) {
  static_assert(std::endian::native == std::endian::little);
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(gradient.data()),
            static_cast<std::streamsize>(gradient.size_bytes()));
  out.close();
  if (!out) throw std::runtime_error("cannot write " + file);
}

/// One rank of the training.
class Trainer {
 public:
  Trainer(const Options& options, const Dataset& dataset, World& world)
      : options_(options),
        dataset_(dataset),
        world_(world),
        network_(kWidths, options.seed),
        gradient_(network_.parameters().size()),
        mean_(gradient_.size()),
        velocity_(gradient_.size(), 0.0F),
        reducer_(options, gradient_.size(), world.comm()),
        steps_(dataset.training.count() / global_batch()) {
    if (steps_ == 0) throw std::runtime_error("a batch of all ranks is more than all images");
  }

  void run() {
    std::optional<Report> report;
    if (world_.rank() == 0) report.emplace(options_, world_.size(), gradient_.size());
    for (std::size_t epoch = 1; epoch <= options_.epochs; ++epoch) {
      const EpochResult result = run_epoch(epoch);
      if (options_.check) check_equal(epoch, result.parameters);
      if (report) report->add(result);
    }
    if (!options_.gradient_prefix.empty()) {
      dump(gradient_, options_.gradient_prefix + "." + std::to_string(world_.rank()) + ".f32");
    }
  }

 private:
  std::size_t global_batch() const {
    return options_.batch * static_cast<std::size_t>(world_.size());
  }

  EpochResult run_epoch(std::size_t epoch) {
    const auto start = std::chrono::steady_clock::now();
    // All ranks shuffle all images alike. A step takes the next global batch of that order, of
    // which rank r takes its r-th part: the images of a step depend on the global batch's size,
    // not on how many ranks share it. What is left at the end waits for another epoch's order.
    const std::vector<std::size_t> order =
        Random(options_.seed, epoch).permutation(dataset_.training.count());
    double loss = 0;
    for (std::size_t step = 0; step < steps_; ++step) {
      const std::size_t first =
          step * global_batch() + options_.batch * static_cast<std::size_t>(world_.rank());
      loss += run_step(select(dataset_.training, std::span(order).subspan(first, options_.batch)));
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    return {.epoch = epoch,
            .loss = world_.sum(loss) / static_cast<double>(steps_) / world_.size(),
            .accuracy = test_accuracy(),
            .bytes_sent = world_.max(reducer_.bytes_sent()),
            .seconds = world_.max(seconds.count()),
            .parameters = hash(network_.parameters())};
  }

  /// One step of SGD with momentum on the mean gradient of all ranks. Momentum comes after the
  /// reduction: every rank then holds the same velocity, and the residual holds plain gradients.
  double run_step(const Digits& batch) {
    const double loss = network_.loss_and_gradient(batch, gradient_);
    reducer_.average(gradient_, mean_);
    const std::span<float> parameters = network_.parameters();
    const auto momentum = static_cast<float>(options_.momentum);
    const auto learning_rate = static_cast<float>(options_.learning_rate);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      velocity_[i] = momentum * velocity_[i] + mean_[i];
      parameters[i] -= learning_rate * velocity_[i];
    }
    return loss;
  }

  /// Each rank tests its share of the images.
  double test_accuracy() {
    std::vector<std::size_t> share;
    for (auto i = static_cast<std::size_t>(world_.rank()); i < dataset_.test.count();
         i += static_cast<std::size_t>(world_.size())) {
      share.push_back(i);
    }
    const std::size_t correct = network_.correct(select(dataset_.test, share));
    return world_.sum(static_cast<double>(correct)) / static_cast<double>(dataset_.test.count());
  }

  void check_equal(std::size_t epoch, std::uint64_t parameters) {
    const std::vector<std::uint64_t> hashes = world_.allgather(parameters);
    for (std::size_t rank = 0; rank < hashes.size(); ++rank) {
      if (hashes[rank] == hashes[0]) continue;
      throw std::runtime_error("after epoch " + std::to_string(epoch) +
                               " the parameters of ranks 0 and " + std::to_string(rank) +
                               " differ");
    }
  }

  const Options& options_;
  const Dataset& dataset_;
  World& world_;
  Network network_;
  std::vector<float> gradient_;
  std::vector<float> mean_;
  std::vector<float> velocity_;
  Reducer reducer_;
  std::size_t steps_;
};

}  // namespace

void train(const Options& options, const Dataset& dataset, World& world) {
  Trainer(options, dataset, world).run();
}

}  // namespace train
