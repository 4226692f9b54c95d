// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend.h"
#include "data.h"

namespace train {

/// A multilayer perceptron: fully connected layers with ReLU between them, and softmax
/// cross-entropy as the loss.
///
/// All parameters are one vector, layer by layer: the weights as inputs x outputs, then the biases.
/// The gradient has the same order, so that it is one tensor for the reduction. Both are in the
/// memory of the backend, which does all arithmetic except the softmax: the exponentials of the
/// host and of a GPU differ in the last bit.
class Network {
 public:
  /// `widths`: pixels, hidden layers, classes. The initial weights are uniform in +-sqrt(6 /
  /// inputs) (He et al., ICCV 2015), and the biases are 0. They depend only on the seed, and hence
  /// are the same on every rank.
  Network(const std::vector<std::size_t>& widths, std::uint64_t seed, Backend& backend);

  std::span<float> parameters() { return parameters_.span(); }

  /// Returns the lengths of the tensors in parameters(): weights and biases of each layer.
  std::vector<std::size_t> tensors() const;

  /// Returns the mean cross-entropy of the batch, and writes its gradient to `gradient`, which has
  /// parameters().size() values.
  double loss_and_gradient(const Digits& batch, std::span<float> gradient);

  /// Returns the number of images of the batch whose largest output is at their digit.
  std::size_t correct(const Digits& batch);

 private:
  struct Layer {
    std::size_t inputs = 0;
    std::size_t outputs = 0;
    std::size_t weights = 0;  // offsets in parameters_
    std::size_t biases = 0;
    Vector<float> activations;  // batch x outputs
    Vector<float> errors;       // gradient of the loss by the layer's sums, batch x outputs
    Vector<float> transposed;   // the weights as outputs x inputs, for the backward pass
  };

  /// Returns the sums of the last layer in host memory, batch x classes.
  std::vector<float> forward(const Digits& batch);
  void backward(std::size_t rows, std::span<float> gradient);
  void pass_errors(const Layer& from, Layer& to, std::size_t rows);

  Backend& backend_;
  std::vector<Layer> layers_;
  Vector<float> pixels_;  // pixels of the last batch
  Vector<float> parameters_;
};

}  // namespace train
