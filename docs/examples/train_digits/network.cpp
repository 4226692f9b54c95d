// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "network.h"

#include <algorithm>
#include <cmath>

#include "matrix.h"
#include "random.h"

namespace train {
namespace {

/// Turns the outputs of one image into the gradient of its cross-entropy, times `scale`, and
/// returns that cross-entropy.
double softmax_cross_entropy(std::span<const float> outputs, std::size_t label, float scale,
                             std::span<float> errors) {
  const float largest = *std::max_element(outputs.begin(), outputs.end());
  float sum = 0;
  for (std::size_t c = 0; c < outputs.size(); ++c) {
    errors[c] = std::exp(outputs[c] - largest);  // at most 1: cannot overflow
    sum += errors[c];
  }
  for (float& error : errors) error *= scale / sum;
  errors[label] -= scale;
  return std::log(sum) - (outputs[label] - largest);
}

}  // namespace

Network::Network(std::vector<std::size_t> widths, std::uint64_t seed) {
  Random random(seed, 0);
  for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
    Layer layer;
    layer.inputs = widths[l];
    layer.outputs = widths[l + 1];
    layer.weights = parameters_.size();
    layer.biases = layer.weights + layer.inputs * layer.outputs;
    layer.transposed.resize(layer.inputs * layer.outputs);
    const float limit = std::sqrt(6.0F / static_cast<float>(layer.inputs));
    for (std::size_t w = layer.weights; w < layer.biases; ++w) {
      parameters_.push_back(random.symmetric(limit));
    }
    parameters_.resize(layer.biases + layer.outputs, 0.0F);
    layers_.push_back(std::move(layer));
  }
}

std::vector<std::size_t> Network::tensors() const {
  std::vector<std::size_t> counts;
  for (const Layer& layer : layers_) {
    counts.push_back(layer.inputs * layer.outputs);
    counts.push_back(layer.outputs);
  }
  return counts;
}

void Network::forward(const Digits& batch) {
  const std::size_t rows = batch.count();
  const float* inputs = batch.pixels.data();
  for (Layer& layer : layers_) {
    layer.activations.resize(rows * layer.outputs);
    float* const z = layer.activations.data();
    const float* const biases = parameters_.data() + layer.biases;
    for (std::size_t row = 0; row < rows; ++row) {
      std::copy_n(biases, layer.outputs, z + row * layer.outputs);
    }
    add_product(inputs, parameters_.data() + layer.weights, z, rows, layer.inputs, layer.outputs);
    if (&layer != &layers_.back()) {
      for (float& activation : layer.activations) activation = std::max(activation, 0.0F);
    }
    inputs = z;
  }
}

double Network::loss_and_gradient(const Digits& batch, std::span<float> gradient) {
  forward(batch);
  Layer& top = layers_.back();
  top.errors.resize(top.activations.size());
  const float scale = 1.0F / static_cast<float>(batch.count());
  double loss = 0;
  for (std::size_t row = 0; row < batch.count(); ++row) {
    const std::size_t at = row * top.outputs;
    loss += softmax_cross_entropy(std::span(top.activations).subspan(at, top.outputs),
                                  batch.labels[row], scale,
                                  std::span(top.errors).subspan(at, top.outputs));
  }
  backward(batch, gradient);
  return loss / static_cast<double>(batch.count());
}

void Network::backward(const Digits& batch, std::span<float> gradient) {
  const std::size_t rows = batch.count();
  std::fill(gradient.begin(), gradient.end(), 0.0F);
  for (std::size_t l = layers_.size(); l-- > 0;) {
    Layer& layer = layers_[l];
    const float* const inputs = l == 0 ? batch.pixels.data() : layers_[l - 1].activations.data();
    add_transposed_product(inputs, layer.errors.data(), gradient.data() + layer.weights, rows,
                           layer.inputs, layer.outputs);
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t j = 0; j < layer.outputs; ++j) {
        gradient[layer.biases + j] += layer.errors[row * layer.outputs + j];
      }
    }
    if (l == 0) break;  // nobody asks for the gradient by the pixels
    Layer& below = layers_[l - 1];
    below.errors.assign(rows * below.outputs, 0.0F);
    transpose(parameters_.data() + layer.weights, layer.transposed.data(), layer.inputs,
              layer.outputs);
    add_product(layer.errors.data(), layer.transposed.data(), below.errors.data(), rows,
                layer.outputs, layer.inputs);
    for (std::size_t i = 0; i < below.errors.size(); ++i) {  // ReLU passes where it was open
      if (below.activations[i] == 0) below.errors[i] = 0;
    }
  }
}

std::size_t Network::correct(const Digits& batch) {
  forward(batch);
  const std::vector<float>& outputs = layers_.back().activations;
  std::size_t correct = 0;
  for (std::size_t row = 0; row < batch.count(); ++row) {
    const auto first = outputs.begin() + static_cast<std::ptrdiff_t>(row * kClasses);
    const auto largest = std::max_element(first, first + kClasses);
    correct += static_cast<std::size_t>(largest - first) == batch.labels[row] ? 1 : 0;
  }
  return correct;
}

}  // namespace train
