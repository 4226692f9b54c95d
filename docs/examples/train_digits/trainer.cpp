// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "trainer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <csignal>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>

#include "backend.h"
#include "gossip.h"
#include "network.h"
#include "optimizer.h"
#include "random.h"
#include "report.h"

namespace train {
namespace {

std::vector<std::size_t> widths_of(const Options& options) {
  std::vector<std::size_t> widths = {kPixels};
  widths.insert(widths.end(), options.hidden.begin(), options.hidden.end());
  widths.push_back(kClasses);
  return widths;
}

/// A rank's totals since the first step, without evaluations.
struct Totals {
  std::size_t steps = 0;
  double loss = 0;  // sum over all steps
  ThreadTime training;
  ThreadTime calls;  // part of `training` in sparsecoll's calls
  // The library's own statistics.
  double select = 0;
  double wait = 0;
  std::uint64_t bytes_sent = 0;
};

/// Returns the FNV-1a hash of the bits of all parameters.
std::uint64_t hash(std::span<const float> parameters) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const float parameter : parameters) {
    hash = (hash ^ std::bit_cast<std::uint32_t>(parameter)) * 0x100000001B3u;
  }
  return hash;
}

/// Writes raw little-endian float32 values, which `--data` of the programs in perf/ reads.
void dump(std::span<const float> gradient, const std::string& file) {
  static_assert(std::endian::native == std::endian::little);
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(gradient.data()),
            static_cast<std::streamsize>(gradient.size_bytes()));
  out.close();
  if (!out) throw std::runtime_error("cannot write " + file);
}

/// Trains on one rank.
class Trainer {
 public:
  Trainer(const Options& options, const Dataset& dataset, World& world)
      : options_(options),
        dataset_(dataset),
        world_(world),
        backend_(options.memory == Memory::device ? make_device_backend(world.rank())
                                                  : make_host_backend()),
        network_(widths_of(options), options.seed, *backend_),
        common_(widths_of(options), options.seed, *backend_),
        gradient_(*backend_, network_.parameters().size()),
        optimizer_(make_optimizer({options, network_.tensors(), network_.parameters(), world.comm(),
                                   *backend_, totals_.calls})),
        steps_(dataset.training.count() / global_batch()) {
    if (steps_ == 0) throw std::runtime_error("a batch of all ranks is more than all images");
  }

  void run() {
    if (world_.rank() == 0) report_.emplace(options_, world_.size(), gradient_.size());
    world_.max(0.0);  // all ranks start at the same time
    library_before_ = library_stats();
    for (std::size_t epoch = 1; epoch <= options_.epochs && !finished_; ++epoch) run_epoch(epoch);
    if (!options_.gradient_prefix.empty()) {
      dump(read(*backend_, gradient_.span()),
           options_.gradient_prefix + "." + std::to_string(world_.rank()) + ".f32");
    }
  }

 private:
  std::size_t global_batch() const {
    return options_.batch * static_cast<std::size_t>(world_.size());
  }

  void run_epoch(std::size_t epoch) {
    // All ranks shuffle all images in the same way. A step takes the next global batch, of which
    // rank r takes the r-th part. Hence the images of a step depend on the size of the global
    // batch, but not on the number of ranks. Images that do not fill a batch are left out in this
    // epoch.
    const std::vector<std::size_t> order =
        Random(options_.seed, epoch).permutation(dataset_.training.count());
    for (std::size_t used = 0; used + global_batch() <= order.size() && !finished_;) {
      if (epoch == 2 && 2 * used > order.size()) die_if_asked();
      const std::size_t batch = global_batch();
      const std::size_t first = used + options_.batch * static_cast<std::size_t>(world_.rank());
      const auto images = std::span(order).subspan(first, options_.batch);
      Outcome outcome = attempt([&] { run_step(images, density_in(epoch)); });
      if (outcome == Outcome::undone) used -= last_batch_;
      if (outcome != Outcome::done) continue;
      last_batch_ = batch;
      const bool ends = used + 2 * batch > order.size();
      const std::size_t steps = ends ? steps_ : used / batch + 1;
      epochs_ = static_cast<double>((epoch - 1) * steps_ + steps) / static_cast<double>(steps_);
      const bool asked = options_.every > 0 && totals_.steps % options_.every == 0;
      if (asked || ends) do {
          outcome = attempt([&] { evaluate(); });
        } while (outcome == Outcome::again);
      if (outcome == Outcome::done) used += batch;
    }
  }

  void run_step(std::span<const std::size_t> images, double density) {
    const Stopwatch watch(totals_.training);
    const double loss =
        network_.loss_and_gradient(select(dataset_.training, images), gradient_.span());
    optimizer_->step(gradient_.span(), network_.parameters(), density);
    last_loss_ = loss;
    totals_.loss += loss;
    ++totals_.steps;
    last_call_ = sequence();
  }

  /// How work with the other ranks has ended. After the loss of a rank the others have made a
  /// communicator of their own: the work is to be done again, or the step before it, too.
  enum class Outcome { done, again, undone };

  template <class Work>
  Outcome attempt(Work&& work) {
    try {
      work();
      return Outcome::done;
    } catch (const RankLost& lost) {
      if (!options_.go_on) throw;
      return go_on(lost.what());
    }
  }

  Outcome go_on(const std::string& why) {
    add_library_stats();
    const sparsecollComm_t comm = world_.shrink();
    optimizer_->move_to(comm);
    world_.continue_with(comm);
    library_before_ = library_stats();
    steps_ = dataset_.training.count() / global_batch();
    if (world_.rank() == 0) {
      if (!report_) report_.emplace(options_, world_.size(), gradient_.size());
      report_->announce(std::to_string(world_.size()) + " ranks go on after " + why);
    }
    if (last_call_ <= sequence()) return Outcome::again;
    // Some of these ranks have not made the last step.
    optimizer_->undo(network_.parameters());
    totals_.loss -= last_loss_;
    --totals_.steps;
    last_call_ = 0;
    return Outcome::undone;
  }

  /// Returns the number of the last call; that of a new communicator counts on from the last call
  /// that all of its ranks have committed.
  std::uint64_t sequence() const {
    std::uint64_t number = 0;
    require(sparsecollCommGetSequence(world_.comm(), &number), world_.comm());
    return number;
  }

  void die_if_asked() const {
    if (options_.killed == world_.rank() && !world_.has_lost_ranks()) std::raise(SIGKILL);
  }

  /// Evaluates the model and reports. All ranks call it after the same step. Collective.
  void evaluate() {
    {
      const Stopwatch watch(totals_.training);
      optimizer_->drain(network_.parameters());
    }
    add_library_stats();
    optimizer_->average_models(network_.parameters(), common_.parameters());
    const double accuracy = test_accuracy(common_);
    const Row row = row_of(accuracy, is_gossip(options_.mode) ? test_accuracy(network_) : accuracy);
    if (options_.check) check_equal(row);
    if (report_) report_->add(row);
    elapsed_ = row.elapsed;
    finished_ = options_.seconds > 0 && elapsed_ >= options_.seconds;
    reported_ = totals_;
    library_before_ = library_stats();  // do not count the evaluation
  }

  Row row_of(double accuracy, double own_accuracy) {
    const auto since = [this](double ThreadTime::*time, ThreadTime Totals::*of) {
      return totals_.*of.*time - reported_.*of.*time;
    };
    const double wall = since(&ThreadTime::wall, &Totals::training);
    const double seconds = world_.max(wall);
    const double calls = since(&ThreadTime::wall, &Totals::calls);
    const double cpu =
        since(&ThreadTime::cpu, &Totals::training) - since(&ThreadTime::cpu, &Totals::calls);
    const auto steps = static_cast<double>(totals_.steps - reported_.steps);
    return {.epoch = epochs_,
            .step = totals_.steps,
            .ranks = world_.size(),
            .loss = world_.mean(totals_.loss - reported_.loss) / steps,
            .accuracy = accuracy,
            .own_accuracy = own_accuracy,
            .bytes_sent = world_.max(totals_.bytes_sent),
            .elapsed = elapsed_ + seconds,
            .seconds = seconds,
            .compute = world_.mean(wall - calls),
            .compute_cpu = world_.mean(cpu),
            .calls = world_.mean(calls),
            .select = world_.mean(totals_.select - reported_.select),
            .wait = world_.mean(totals_.wait - reported_.wait),
            .parameters = hash(read(*backend_, common_.parameters()))};
  }

  /// Deep Gradient Compression's warm-up: 25%, 6.25%, 1.5625%, 0.4%, 0.1%, ...
  double density_in(std::size_t epoch) const {
    if (epoch > options_.warm_up) return options_.density;
    return std::max(options_.density, std::pow(0.25, static_cast<double>(epoch)));
  }

  sparsecollStats_t library_stats() const {
    sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
    require(sparsecollCommGetStats(world_.comm(), sparsecollStatsTotal, &stats), world_.comm());
    return stats;
  }

  void add_library_stats() {
    const sparsecollStats_t now = library_stats();
    totals_.select += now.selectSeconds - library_before_.selectSeconds;
    totals_.wait += now.exchangeSeconds - library_before_.exchangeSeconds;
    totals_.bytes_sent += now.bytesSent - library_before_.bytesSent;
  }

  /// Returns the accuracy on the test images, of which each rank tests a share. Collective.
  double test_accuracy(Network& network) {
    std::vector<std::size_t> share;
    for (auto i = static_cast<std::size_t>(world_.rank()); i < dataset_.test.count();
         i += static_cast<std::size_t>(world_.size())) {
      share.push_back(i);
    }
    const std::size_t correct = network.correct(select(dataset_.test, share));
    return world_.sum(static_cast<double>(correct)) / static_cast<double>(dataset_.test.count());
  }

  void check_equal(const Row& row) {
    const std::vector<std::uint64_t> hashes = world_.allgather(row.parameters);
    for (std::size_t rank = 0; rank < hashes.size(); ++rank) {
      if (hashes[rank] == hashes[0]) continue;
      throw std::runtime_error("after step " + std::to_string(row.step) +
                               " the parameters of ranks 0 and " + std::to_string(rank) +
                               " differ");
    }
  }

  const Options& options_;
  const Dataset& dataset_;
  World& world_;
  std::unique_ptr<Backend> backend_;
  Network network_;  // this rank's model
  Network common_;   // mean of all ranks' models; equal to network_ unless the mode is gossip
  Vector<float> gradient_;
  Totals totals_;
  Totals reported_;     // totals_ at the last row
  double elapsed_ = 0;  // sum of the slowest rank's seconds in each row
  // The library's statistics when training started, or continued after an evaluation.
  sparsecollStats_t library_before_ = SPARSECOLL_STATS_INITIALIZER;
  std::unique_ptr<Optimizer> optimizer_;
  std::size_t steps_;           // steps of an epoch
  std::size_t last_batch_ = 0;  // images of the last step
  double last_loss_ = 0;
  std::uint64_t last_call_ = 0;  // number of its call
  double epochs_ = 0;            // so far
  bool finished_ = false;
  std::optional<Report> report_;  // on rank 0
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
