// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sparsecoll/sparsecoll.h>

#include <cstddef>
#include <span>
#include <vector>

#include "optimizer.h"

namespace train {

/// Returns k for a tensor of `count` values; at least 1.
std::size_t entries_to_keep(double density, std::size_t count);

/// Computes the mean of the ranks' gradients, with error feedback: residuals keep the values that
/// were not delivered for the next step.
class Reducer {
 public:
  /// `tensors`: the lengths of the tensors of a gradient, each of which has its own k and residual.
  Reducer(const Problem& problem, std::span<const std::size_t> tensors);
  ~Reducer();
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  /// Writes the mean to `mean`, the same on every rank. Both vectors are in the memory of the
  /// problem's backend. A residual stays in the memory of the vectors of its first call.
  /// Collective.
  void average(std::span<const float> gradient, std::span<float> mean, double density);

  /// Goes on with the ranks of a communicator that was shrunk from the current one. Residuals are
  /// then those after the last call that all of these ranks have committed.
  void move_to(sparsecollComm_t comm);

 private:
  struct Tensor {
    std::size_t first = 0;  // offset in the gradient
    std::size_t count = 0;
    bool opens_group = false;
    sparsecollResidual_t residual = nullptr;
  };

  Mode mode_;
  sparsecollComm_t comm_;
  sparsecollStream_t stream_;  // NULL on the host
  ThreadTime& calls_;
  std::vector<Tensor> tensors_;
};

}  // namespace train
