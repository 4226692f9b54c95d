// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "trainer.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>

#include "network.h"
#include "optimizer.h"
#include "place.h"
#include "random.h"
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
        place_(options.memory == Memory::device ? make_device_place(world.rank())
                                                : make_host_place()),
        network_(kWidths, options.seed, *place_),
        agreed_(kWidths, options.seed, *place_),
        gradient_(*place_, network_.parameters().size()),
        optimizer_(make_optimizer(
            {options, network_.tensors(), network_.parameters(), world.comm(), *place_})),
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
      dump(read(*place_, gradient_.span()),
           options_.gradient_prefix + "." + std::to_string(world_.rank()) + ".f32");
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
    const double density = density_in(epoch);
    const std::uint64_t sent_before = bytes_sent();
    double loss = 0;
    for (std::size_t step = 0; step < steps_; ++step) {
      const std::size_t first =
          step * global_batch() + options_.batch * static_cast<std::size_t>(world_.rank());
      loss += network_.loss_and_gradient(
          select(dataset_.training, std::span(order).subspan(first, options_.batch)),
          gradient_.span());
      optimizer_->step(gradient_.span(), network_.parameters(), density);
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    training_bytes_ += bytes_sent() - sent_before;
    optimizer_->agree(network_.parameters(), agreed_.parameters());
    return {.epoch = epoch,
            .loss = world_.sum(loss) / static_cast<double>(steps_) / world_.size(),
            .accuracy = test_accuracy(agreed_),
            .own_accuracy = test_accuracy(network_),
            .bytes_sent = world_.max(training_bytes_),
            .seconds = world_.max(seconds.count()),
            .parameters = hash(read(*place_, agreed_.parameters()))};
  }

  /// Deep Gradient Compression's warm-up: 25%, 6.25%, 1.5625%, 0.4%, 0.1%, ...
  double density_in(std::size_t epoch) const {
    if (epoch > options_.warm_up) return options_.density;
    return std::max(options_.density, std::pow(0.25, static_cast<double>(epoch)));
  }

  std::uint64_t bytes_sent() const {
    sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
    require(sparsecollCommGetStats(world_.comm(), sparsecollStatsTotal, &stats), world_.comm());
    return stats.bytesSent;
  }

  /// Each rank tests its share of the images.
  double test_accuracy(Network& network) {
    std::vector<std::size_t> share;
    for (auto i = static_cast<std::size_t>(world_.rank()); i < dataset_.test.count();
         i += static_cast<std::size_t>(world_.size())) {
      share.push_back(i);
    }
    const std::size_t correct = network.correct(select(dataset_.test, share));
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
  std::unique_ptr<Place> place_;
  Network network_;  // this rank's own
  Network agreed_;   // what all ranks have come to; the same bits unless the mode is gossip
  Vector<float> gradient_;
  std::unique_ptr<Optimizer> optimizer_;
  std::size_t steps_;
  std::uint64_t training_bytes_ = 0;
};

}  // namespace

Dataset hold_out(const Digits& training) {
  std::vector<std::size_t> numbers(training.count());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  const std::size_t kept = numbers.size() / 4 * 3;
  return {select(training, std::span(numbers).first(kept)),
          select(training, std::span(numbers).subspan(kept))};
}

void train(const Options& options, const Dataset& dataset, World& world) {
  Trainer(options, dataset, world).run();
}

}  // namespace train
