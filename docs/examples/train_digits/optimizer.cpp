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
        reducer_(problem, parts(problem)) {}

  void step(std::span<const float> gradient, std::span<float> parameters, double density) override {
    reducer_.average(gradient, mean_.span(), density);
    backend_.accumulate(velocity_.span(), momentum_, mean_.data());
    backend_.descend(parameters, learning_rate_, velocity_.data());
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
  Reducer reducer_;
};

}  // namespace

sparsecollConfig_t config_for(const Options& options) {
  sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
  config.timeoutMs = 60000;  // far longer than a step
  config.denseBelow = options.dense_below;
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
