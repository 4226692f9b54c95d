// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "optimizer.h"

namespace train {

/// Returns true if the ranks exchange models with neighbours, and not gradients with all ranks.
bool is_gossip(Mode mode);

/// Stochastic Gradient Push (Assran, Loizou, Ballas, Rabbat, ICML 2019). Mode osgp is its
/// overlapped form; mode gossip sends only some of the entries (compressed gossip):
///   1. velocity = momentum velocity + this rank's own gradient at the estimate z
///   2. x -= rate * velocity
///   3. one step of push-sum on (x, w); z = x / w
/// The network's parameters are z. This class keeps x, and the push-sum state keeps w.
class Gossip final : public Optimizer {
 public:
  explicit Gossip(const Problem& problem);
  ~Gossip() override;

  void step(std::span<const float> gradient, std::span<float> parameters, double density) override;

  /// Receives all messages that are in flight.
  void drain(std::span<float> parameters) override;
  /// Computes the mean of all ranks' models.
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
