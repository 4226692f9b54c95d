// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sparsecoll/sparsecoll.h>

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>

#include "backend.h"
#include "options.h"
#include "stopwatch.h"

namespace train {

/// Returns the configuration of the communicator.
sparsecollConfig_t config_for(const Options& options);

/// The arguments of an optimizer.
struct Problem {
  const Options& options;
  std::span<const std::size_t> tensors;  // the lengths of the network's tensors, in order
  std::span<const float> parameters;     // the initial ones, the same on every rank
  sparsecollComm_t comm;                 // made with config_for(options.mode)
  Backend& backend;                      // the memory of all vectors
  ThreadTime& calls;                     // to which the time of sparsecoll's calls is added
};

/// Updates the parameters of this rank by the gradients of all ranks. Only optimizers call
/// sparsecoll's collectives.
class Optimizer {
 public:
  Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  virtual ~Optimizer() = default;

  /// Makes one step: updates `parameters`. `gradient` is the gradient of this rank's images.
  /// `density`: the fraction of the entries that modes with a selection send. Collective.
  virtual void step(std::span<const float> gradient, std::span<float> parameters,
                    double density) = 0;

  /// With --go-on: goes on with the ranks of a communicator that was shrunk from the current one.
  virtual void move_to(sparsecollComm_t) { throw std::logic_error("the mode cannot go on"); }
  /// With --go-on: undoes the last step, which not all of these ranks have made.
  virtual void undo(std::span<float>) { throw std::logic_error("the mode cannot go on"); }

  /// Receives the messages of earlier steps that are in flight. All ranks must have made the same
  /// number of steps. It counts as training time. Collective.
  virtual void drain(std::span<float>) {}

  /// Writes the mean of the ranks' models to `model`: the same bits on every rank. It follows
  /// drain() and does not count as training time. Collective.
  virtual void average_models(std::span<const float> parameters, std::span<float> model) = 0;
};

std::unique_ptr<Optimizer> make_optimizer(const Problem& problem);

}  // namespace train
