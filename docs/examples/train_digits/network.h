// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data.h"

namespace train {

/// A multilayer perceptron: fully connected layers, ReLU between them, softmax cross-entropy above.
///
/// All parameters are one vector, layer by layer: the weights as inputs x outputs, then the biases.
/// Its gradient has the same order, and so is one tensor for the reduction.
class Network {
 public:
  /// `widths`: pixels, hidden layers, classes. Weights are uniform in +-sqrt(6 / inputs) (He et
  /// al., ICCV 2015), biases 0; the same on every rank, as they depend on the seed alone.
  Network(std::vector<std::size_t> widths, std::uint64_t seed);

  std::span<float> parameters() { return parameters_; }

  /// The counts of the parts of parameters(): weights and biases of each layer.
  std::vector<std::size_t> tensors() const;

  /// Mean cross-entropy over the batch; `gradient` (parameters().size() values) becomes that of it.
  double loss_and_gradient(const Digits& batch, std::span<float> gradient);

  /// How many images of the batch have their largest output at their digit.
  std::size_t correct(const Digits& batch);

 private:
  struct Layer {
    std::size_t inputs = 0;
    std::size_t outputs = 0;
    std::size_t weights = 0;  // where they start in parameters_
    std::size_t biases = 0;
    std::vector<float> activations;  // batch x outputs
    std::vector<float> errors;       // the loss by the layer's sums, batch x outputs
    std::vector<float> transposed;   // the weights as outputs x inputs, for the way back
  };

  void forward(const Digits& batch);
  void backward(const Digits& batch, std::span<float> gradient);

  std::vector<Layer> layers_;
  std::vector<float> parameters_;
};

}  // namespace train
