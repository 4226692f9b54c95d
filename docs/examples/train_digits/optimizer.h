// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sparsecoll/sparsecoll.h>

#include <cstddef>
#include <memory>
#include <span>

#include "backend.h"
#include "options.h"
#include "stopwatch.h"

namespace train {

/// The configuration of the communicator that a mode needs.
sparsecollConfig_t config_for(Mode mode);

/// What an optimizer works on.
struct Problem {
  const Options& options;
  std::span<const std::size_t> tensors;  // the counts of the network's tensors, in order
  std::span<const float> parameters;     // the first ones, the same on every rank
  sparsecollComm_t comm;                 // made with config_for(options.mode)
  Backend& backend;                      // of all vectors
  ThreadTime& calls;                     // where the time of sparsecoll's calls is added
};

/// How the gradients of all ranks move the parameters of this one: all that data-parallel training
/// asks of sparsecoll.
class Optimizer {
 public:
  Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  virtual ~Optimizer() = default;

  /// Collective. `gradient` is that of this rank's images at `parameters`, which become the next
  /// ones. Of every vector that is made sparse, the part `density` travels.
  virtual void step(std::span<const float> gradient, std::span<float> parameters,
                    double density) = 0;

  /// Collective, after the same number of steps on all ranks: what these have left on its way
  /// arrives. It is part of the training, unlike what judging needs.
  virtual void drain(std::span<float>) {}

  /// Collective, after settle(): the one model that the ranks have come to, the same bits on every
  /// rank.
  virtual void average_models(std::span<const float> parameters, std::span<float> model) = 0;
};

std::unique_ptr<Optimizer> make_optimizer(const Problem& problem);

}  // namespace train
