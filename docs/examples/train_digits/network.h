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

/// A multilayer perceptron: fully connected layers, ReLU between them, softmax cross-entropy above.
///
/// All parameters are one vector, layer by layer: the weights as inputs x outputs, then the biases.
/// Its gradient has the same order, and so is one tensor for the reduction. Both are in the memory
/// of one place, where all of the arithmetic is done but for the softmax of the few outputs: the
/// host's and a GPU's exponentials are not the same in their last bit.
class Network {
 public:
  /// `widths`: pixels, hidden layers, classes. Weights are uniform in +-sqrt(6 / inputs) (He et
  /// al., ICCV 2015), biases 0; the same on every rank, as they depend on the seed alone.
  Network(const std::vector<std::size_t>& widths, std::uint64_t seed, Backend& backend);

  std::span<float> parameters() { return parameters_.span(); }

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
    Vector<float> activations;  // batch x outputs
    Vector<float> errors;       // the loss by the layer's sums, batch x outputs
    Vector<float> transposed;   // the weights as outputs x inputs, for the way back
  };

  /// The top layer's sums on the host, batch x classes.
  std::vector<float> forward(const Digits& batch);
  void backward(std::size_t rows, std::span<float> gradient);
  void pass_errors(const Layer& from, Layer& to, std::size_t rows);

  Backend& backend_;
  std::vector<Layer> layers_;
  Vector<float> pixels_;  // of the last batch
  Vector<float> parameters_;
};

}  // namespace train
