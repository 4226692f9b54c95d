// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <sparsecoll/sparsecoll.hpp>
#include <vector>

namespace train {

/// Stochastic Gradient Push: ranks average parameters with neighbours, and not gradients with all.
///
///   PushSumModel model(comm, network->parameters());
///   loss.backward();
///   model.step([&] { optimizer.step(); });
///   model.synchronize();  // before evaluation: all ranks get the mean
///
/// The parameters become views of one tensor, which holds the estimate x / w. There gradients are
/// computed; the optimizer changes the numerator x.
class PushSumModel {
 public:
  /// `comm`: with blocking = 1; it outlives this object. `parameters`: of float32, on the host, the
  /// same on all ranks. Collective.
  PushSumModel(sparsecoll::Communicator& comm, const std::vector<torch::Tensor>& parameters);

  /// Makes a step of the optimizer and one of push-sum.
  template <class OptimizerStep>
  void step(OptimizerStep&& optimizer_step) {
    estimate_.copy_(numerator_);
    optimizer_step();
    numerator_.copy_(estimate_);
    state_.step(span(numerator_), span(estimate_));
  }

  /// Gives all ranks the mean of their models. Collective.
  void synchronize();

 private:
  static sparsecoll::Span<float> span(torch::Tensor& tensor) {
    return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
  }

  sparsecoll::Communicator& comm_;
  torch::Tensor estimate_;   ///< x / w
  torch::Tensor numerator_;  ///< x
  sparsecoll::PushSum<float> state_;
};

}  // namespace train
