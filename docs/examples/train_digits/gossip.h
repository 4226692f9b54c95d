// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "optimizer.h"

namespace train {

/// Whether a mode exchanges models between neighbours instead of gradients between all.
bool is_gossip(Mode mode);

/// Assran, Loizou, Ballas, Rabbat, Stochastic Gradient Push, ICML 2019; with --max-delay its
/// overlapped form, and with entries left out compressed gossip:
///   1. velocity = momentum velocity + this rank's own gradient, taken at the estimate z
///   2. x -= rate * velocity
///   3. one step of push-sum on (x, w); z = x / w
/// The network's parameters are z; x and w stay here.
class Gossip final : public Optimizer {
 public:
  explicit Gossip(const Problem& problem);
  ~Gossip() override;

  void step(std::span<const float> gradient, std::span<float> parameters, double density) override;

  /// Adds everything that is under way.
  void drain(std::span<float> parameters) override;
  /// The mean of all ranks' models.
  void average_models(std::span<const float> parameters, std::span<float> model) override;

 private:
  float learning_rate_;
  float momentum_;
  sparsecollComm_t comm_;
  Backend& backend_;
  ThreadTime& calls_;
  sparsecollPushSum_t state_ = nullptr;
  Vector<float> numerator_;  // x
  Vector<float> velocity_;
};

}  // namespace train
