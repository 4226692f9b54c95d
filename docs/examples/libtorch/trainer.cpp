// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "trainer.h"

#include <torch/torch.h>

#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <vector>

#include "gradient_buckets.h"
#include "push_sum_model.h"
#include "random.h"

namespace train {
namespace {

constexpr Mode kModes[] = {
    {"dense", sparsecollAlgoDense, true, false, false},
    {"topk", sparsecollAlgoAllgather, false, false, false},
    {"oktopk", sparsecollAlgoOktopk, false, false, false},
    {"gtopk", sparsecollAlgoAuto, false, true, false},
    {"sharded", sparsecollAlgoSharded, false, false, false},
    {"sgp", sparsecollAlgoAuto, false, false, true},
};

/// Makes a network whose initial parameters depend on the seed only.
torch::nn::Sequential make_network(std::uint64_t seed) {
  static std::mutex mutex;  // ranks that are threads share torch's generator
  const std::lock_guard lock(mutex);
  torch::manual_seed(seed);
  using namespace torch::nn;
  return Sequential(Conv2d(Conv2dOptions(1, 16, 3).padding(1)), ReLU(),
                    Conv2d(Conv2dOptions(16, 32, 3).padding(1)), ReLU(), MaxPool2d(2), Flatten(),
                    Linear(512, 128), ReLU(), Linear(128, 10));
}

torch::Tensor images_of(const Digits& digits) {
  const auto count = static_cast<std::int64_t>(digits.count());
  return torch::tensor(digits.pixels).view({count, 1, 8, 8});
}

torch::Tensor labels_of(const Digits& digits) {
  return torch::tensor(std::vector<std::int64_t>(digits.labels.begin(), digits.labels.end()));
}

double accuracy_of(torch::nn::Sequential& network, const Digits& digits) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor found = network->forward(images_of(digits)).argmax(1);
  return found.eq(labels_of(digits)).to(torch::kFloat64).mean().item<double>();
}

/// Throws unless all ranks have the same parameters, bit for bit. Collective.
void check_equal(torch::nn::Sequential& network, sparsecoll::Communicator& comm) {
  std::uint32_t hash = 0x811C9DC5u;  // FNV-1a
  for (const torch::Tensor& parameter : network->parameters()) {
    const auto* bytes = static_cast<const unsigned char*>(parameter.data_ptr());
    for (std::size_t i = 0; i < parameter.nbytes(); ++i) hash = (hash ^ bytes[i]) * 0x01000193u;
  }
  std::vector<double> hashes(static_cast<std::size_t>(comm.size()));  // each fills its own
  hashes[static_cast<std::size_t>(comm.rank())] = hash;
  comm.sparseAllreduce(hashes, hashes, hashes.size());
  comm.synchronize();
  for (const double other : hashes)
    if (other != hashes[0]) throw std::runtime_error("the ranks have different parameters");
}

void set_rate(torch::optim::SGD& optimizer, double rate) {
  for (auto& group : optimizer.param_groups())
    static_cast<torch::optim::SGDOptions&>(group.options()).lr(rate);
}

double seconds_now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

std::span<const Mode> all_modes() { return kModes; }

sparsecoll::Config config_for(const Mode& mode, const Settings& settings) {
  sparsecoll::Config config;
  config.algorithm = mode.algorithm;
  config.blocking = mode.gossip ? 1 : 0;
  config.denseBelow = settings.dense_below;
  config.timeoutMs = 60000;
  return config;
}

Outcome train(const Mode& mode, const Settings& settings, const Dataset& data,
              sparsecoll::Communicator& comm) {
  torch::set_num_threads(1);  // of this rank
  torch::nn::Sequential network = make_network(settings.seed);
  std::optional<GradientBuckets> buckets;
  std::optional<PushSumModel> gossip;
  if (mode.gossip)
    gossip.emplace(comm, network->parameters());
  else
    buckets.emplace(comm, network->parameters(),
                    GradientBuckets::Settings{mode.dense ? 1 : settings.density, mode.gtopk});
  torch::optim::SGD optimizer(
      network->parameters(),
      torch::optim::SGDOptions(settings.learning_rate).momentum(settings.momentum));

  Outcome outcome;
  const double start = seconds_now();
  const std::size_t batch = settings.batch * static_cast<std::size_t>(comm.size());
  for (std::size_t epoch = 1; epoch <= settings.epochs; ++epoch) {
    // All ranks shuffle alike, and take their parts of the same batch.
    const auto order = Random(settings.seed, epoch).permutation(data.training.count());
    const std::size_t steps = order.size() / batch;
    if (epoch == settings.epochs - settings.epochs / 3 + 1)
      set_rate(optimizer, settings.learning_rate / 10);
    outcome.loss = 0;
    for (std::size_t step = 0; step < steps; ++step) {
      const std::size_t first =
          step * batch + settings.batch * static_cast<std::size_t>(comm.rank());
      const Digits mine = select(data.training, std::span(order).subspan(first, settings.batch));
      optimizer.zero_grad();
      torch::Tensor loss =
          torch::nn::functional::cross_entropy(network->forward(images_of(mine)), labels_of(mine));
      loss.backward();
      const double ready = seconds_now();
      if (gossip) {
        gossip->step([&] { optimizer.step(); });
      } else {
        buckets->wait();
      }
      outcome.waiting += seconds_now() - ready;
      if (buckets) optimizer.step();
      outcome.loss += loss.item<double>() / static_cast<double>(steps);
    }
  }
  outcome.seconds = seconds_now() - start;
  outcome.bytes_sent = comm.stats(sparsecollStatsTotal).bytesSent;
  if (gossip) gossip->synchronize();
  check_equal(network, comm);
  outcome.accuracy = accuracy_of(network, data.test);
  return outcome;
}

}  // namespace train
