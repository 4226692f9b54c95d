// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "optimizer.h"

namespace train {

/// Lin, Han, Mao, Wang, Dally, Deep Gradient Compression, ICLR 2018, algorithm 4 without gradient
/// clipping, which a network without recurrence does not need:
///   1. u = momentum u + gradient            momentum correction: u is each rank's own velocity
///   2. v = v + u                            local accumulation; v is the residual here
///   3. send the k largest of v, v = 0 there
///   4. u = 0 there                          momentum factor masking
///   5. parameters -= rate * mean over ranks of the sent entries
class DeepGradientCompression final : public Optimizer {
 public:
  explicit DeepGradientCompression(const Problem& problem);
  ~DeepGradientCompression() override;

  void step(std::span<const float> gradient, std::span<float> parameters, double density) override;
  void average_models(std::span<const float> parameters, std::span<float> model) override;

 private:
  /// A sparse vector with its memory.
  struct Entries {
    Vector<std::uint32_t> indices;
    Vector<float> values;
    /// Returns a descriptor of a vector of length `count` with room for `capacity` entries.
    sparsecollSparse_t describe(std::size_t count, std::size_t capacity);
  };

  float learning_rate_;
  float momentum_;
  sparsecollComm_t comm_;
  Backend& backend_;
  ThreadTime& calls_;
  std::size_t ranks_;
  sparsecollResidual_t residual_ = nullptr;
  Vector<float> velocity_;
  Entries mine_;
  Entries all_;
};

}  // namespace train
