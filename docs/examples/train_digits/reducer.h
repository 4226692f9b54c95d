// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sparsecoll/sparsecoll.h>

#include <cstddef>
#include <span>
#include <vector>

#include "optimizer.h"

namespace train {

/// k of a tensor of `count` values, at least 1.
std::size_t entries_to_keep(double density, std::size_t count);

/// The mean of the ranks' gradients, with what was not delivered kept in residuals for the next
/// step.
class Reducer {
 public:
  /// `tensors`: the counts of the parts of a gradient, each of which gets its own k and residual.
  Reducer(const Problem& problem, std::span<const std::size_t> tensors);
  ~Reducer();
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  /// Collective: `mean` becomes the same on every rank. Both are in the memory of the problem's
  /// place, and so is the residual, which stays where the vectors of its first call are.
  void average(std::span<const float> gradient, std::span<float> mean, double density);

 private:
  struct Tensor {
    std::size_t first = 0;  // where it starts in the gradient
    std::size_t count = 0;
    bool opens_group = false;
    sparsecollResidual_t residual = nullptr;
  };

  Mode mode_;
  sparsecollComm_t comm_;
  sparsecollStream_t stream_;  // NULL with vectors on the host
  ThreadTime& calls_;
  std::vector<Tensor> tensors_;
};

}  // namespace train
