// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "optimizer.h"

#include <vector>

#include "deep_gradient_compression.h"
#include "gossip.h"
#include "reducer.h"

namespace train {
namespace {

/// SGD with momentum on the mean gradient of all ranks. The momentum is applied after the
/// reduction: all ranks have the same velocity, and residuals contain gradients only.
class MomentumSgd final : public Optimizer {
 public:
  explicit MomentumSgd(const Problem& problem)
      : learning_rate_(static_cast<float>(problem.options.learning_rate)),
        momentum_(static_cast<float>(problem.options.momentum)),
        backend_(problem.backend),
        mean_(backend_, problem.parameters.size()),
        velocity_(backend_, problem.parameters.size()),
        kept_velocity_(backend_, problem.options.go_on ? problem.parameters.size() : 0),
        kept_parameters_(backend_, kept_velocity_.size()),
        reducer_(problem, parts(problem)) {}

  void step(std::span<const float> gradient, std::span<float> parameters, double density) override {
    reducer_.average(gradient, mean_.span(), density);
    // If another rank has failed in this call, the step is undone.
    backend_.copy(velocity_.data(), kept_velocity_.data(), kept_velocity_.size());
    backend_.copy(parameters.data(), kept_parameters_.data(), kept_parameters_.size());
    backend_.accumulate(velocity_.span(), momentum_, mean_.data());
    backend_.descend(parameters, learning_rate_, velocity_.data());
  }

  void move_to(sparsecollComm_t comm) override { reducer_.move_to(comm); }
  void undo(std::span<float> parameters) override {
    backend_.copy(kept_velocity_.data(), velocity_.data(), kept_velocity_.size());
    backend_.copy(kept_parameters_.data(), parameters.data(), kept_parameters_.size());
  }

  void average_models(std::span<const float> parameters, std::span<float> model) override {
    backend_.copy(parameters.data(), model.data(), model.size());
  }

 private:
  /// Returns one length for all layers together, or, in the mode that shows groups, that of each
  /// tensor.
  static std::vector<std::size_t> parts(const Problem& problem) {
    if (problem.options.mode != Mode::groups) return {problem.parameters.size()};
    return {problem.tensors.begin(), problem.tensors.end()};
  }

  float learning_rate_;
  float momentum_;
  Backend& backend_;
  Vector<float> mean_;
  Vector<float> velocity_;
  Vector<float> kept_velocity_;  // before the last step; empty without --go-on
  Vector<float> kept_parameters_;
  Reducer reducer_;
};

}  // namespace

sparsecollConfig_t config_for(const Options& options) {
  sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
  // Far longer than a step. Over MPI a rank counts as gone only after this time.
  config.timeoutMs = options.go_on ? 10000 : 60000;
  config.denseBelow = options.dense_below;
  config.wire = options.wire;
  switch (options.mode) {
    case Mode::topk:
      config.algorithm = sparsecollAlgoAllgather;
      break;
    case Mode::oktopk:
    case Mode::groups:
      config.algorithm = sparsecollAlgoOktopk;
      break;
    case Mode::oktopk_reuse:
      config.algorithm = sparsecollAlgoOktopk;
      config.selection = sparsecollSelectReuse;
      break;
    case Mode::topka2a:
      config.algorithm = sparsecollAlgoTopkA2A;
      break;
    case Mode::sharded:
      config.algorithm = sparsecollAlgoSharded;
      break;
    case Mode::dense:
    case Mode::sgp:  // the mean of all ranks' models, for the evaluation, is dense
    case Mode::osgp:
    case Mode::gossip:
      config.algorithm = sparsecollAlgoDense;
      break;
    case Mode::gtopk:  // its verb, and that of dgc, have no choice of algorithms
    case Mode::dgc:
      break;
  }
  return config;
}

std::unique_ptr<Optimizer> make_optimizer(const Problem& problem) {
  if (is_gossip(problem.options.mode)) return std::make_unique<Gossip>(problem);
  if (problem.options.mode == Mode::dgc) return std::make_unique<DeepGradientCompression>(problem);
  return std::make_unique<MomentumSgd>(problem);
}

}  // namespace train
