// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "gossip.h"

#include "reducer.h"
#include "world.h"

namespace train {

bool is_gossip(Mode mode) {
  return mode == Mode::sgp || mode == Mode::osgp || mode == Mode::gossip;
}

Gossip::Gossip(const Problem& problem)
    : learning_rate_(static_cast<float>(problem.options.learning_rate)),
      momentum_(static_cast<float>(problem.options.momentum)),
      comm_(problem.comm),
      backend_(problem.backend),
      calls_(problem.calls),
      numerator_(backend_, problem.parameters.size()),
      velocity_(backend_, numerator_.size()) {
  backend_.copy(problem.parameters.data(), numerator_.data(), numerator_.size());
  const Options& options = problem.options;
  sparsecollPushSumConfig_t config = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
  if (options.mode == Mode::osgp) config.maxDelay = options.max_delay;
  if (options.mode == Mode::gossip) {
    config.k = entries_to_keep(options.density, numerator_.size());
    config.mixing = options.mixing;
  }
  require(sparsecollPushSumCreate(&state_, numerator_.size(), sparsecollFloat32, &config, comm_),
          comm_);
}

Gossip::~Gossip() { sparsecollPushSumDestroy(state_); }

void Gossip::step(std::span<const float> gradient, std::span<float> parameters, double) {
  backend_.accumulate(velocity_.span(), momentum_, gradient.data());      // 1.
  backend_.descend(numerator_.span(), learning_rate_, velocity_.data());  // 2.
  const Stopwatch watch(calls_);
  require(pushSumStep(numerator_.data(), parameters.data(), numerator_.size(), sparsecollFloat32,
                      state_, comm_, backend_.stream()),
          comm_);  // 3.
}

void Gossip::drain(std::span<float> parameters) {
  const Stopwatch watch(calls_);
  require(sparsecollPushSumDrain(state_, numerator_.data(), parameters.data(), backend_.stream()),
          comm_);
}

void Gossip::average_models(std::span<const float>, std::span<float> model) {
  // The weights of all ranks add up to P. Hence the mean of x is the mean of the models. k is n.
  require(sparseAllreduce(numerator_.data(), model.data(), model.size(), model.size(),
                          sparsecollFloat32, sparsecollAvg, nullptr, comm_, backend_.stream()),
          comm_);
}

}  // namespace train
