// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "network.h"

#include <algorithm>
#include <cmath>

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
    errors[c] = std::exp(outputs[c] - largest);  // at most 1, so that nothing overflows
    sum += errors[c];
  }
  for (float& error : errors) error *= scale / sum;
  errors[label] -= scale;
  return std::log(sum) - (outputs[label] - largest);
}

}  // namespace

Network::Network(const std::vector<std::size_t>& widths, std::uint64_t seed, Backend& backend)
    : backend_(backend), pixels_(backend), parameters_(backend) {
  Random random(seed, 0);
  std::vector<float> parameters;
  for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
    const std::size_t inputs = widths[l], outputs = widths[l + 1], weights = parameters.size();
    const std::size_t biases = weights + inputs * outputs;
    const float limit = std::sqrt(6.0F / static_cast<float>(inputs));
    while (parameters.size() < biases) parameters.push_back(random.symmetric(limit));
    parameters.resize(biases + outputs, 0.0F);
    layers_.push_back({inputs, outputs, weights, biases, Vector<float>(backend),
                       Vector<float>(backend), Vector<float>(backend, inputs * outputs)});
  }
  parameters_.write(parameters);
}

std::vector<std::size_t> Network::tensors() const {
  std::vector<std::size_t> counts;
  for (const Layer& layer : layers_) {
    counts.push_back(layer.inputs * layer.outputs);
    counts.push_back(layer.outputs);
  }
  return counts;
}

std::vector<float> Network::forward(const Digits& batch) {
  pixels_.write(batch.pixels);
  const float* inputs = pixels_.data();
  for (Layer& layer : layers_) {
    const Shape shape{batch.count(), layer.inputs, layer.outputs};
    const std::size_t sums = shape.rows * shape.columns;
    layer.activations.reserve(sums);
    float* const z = layer.activations.data();
    backend_.repeat(parameters_.data() + layer.biases, z, shape);
    backend_.add_product(inputs, parameters_.data() + layer.weights, z, shape);
    if (&layer != &layers_.back()) backend_.relu(z, sums);
    inputs = z;
  }
  return read(backend_, layers_.back().activations.span().first(batch.count() * kClasses));
}

double Network::loss_and_gradient(const Digits& batch, std::span<float> gradient) {
  const std::vector<float> outputs = forward(batch);
  std::vector<float> errors(outputs.size());
  const float scale = 1.0F / static_cast<float>(batch.count());
  double loss = 0;
  for (std::size_t row = 0; row < batch.count(); ++row) {
    const std::size_t at = row * kClasses;
    loss += softmax_cross_entropy(std::span(outputs).subspan(at, kClasses), batch.labels[row],
                                  scale, std::span(errors).subspan(at, kClasses));
  }
  layers_.back().errors.write(errors);
  backward(batch.count(), gradient);
  return loss / static_cast<double>(batch.count());
}

void Network::backward(std::size_t rows, std::span<float> gradient) {
  backend_.clear(gradient.data(), gradient.size());
  for (std::size_t l = layers_.size(); l-- > 0;) {
    Layer& layer = layers_[l];
    const Shape shape{rows, layer.inputs, layer.outputs};
    const float* const inputs = l == 0 ? pixels_.data() : layers_[l - 1].activations.data();
    backend_.add_transposed_product(inputs, layer.errors.data(), gradient.data() + layer.weights,
                                    shape);
    backend_.add_rows(layer.errors.data(), gradient.data() + layer.biases, shape);
    if (l > 0) pass_errors(layer, layers_[l - 1], rows);  // pixels need no errors
  }
}

void Network::pass_errors(const Layer& from, Layer& to, std::size_t rows) {
  const std::size_t errors = rows * to.outputs;
  to.errors.reserve(errors);
  backend_.clear(to.errors.data(), errors);
  backend_.transpose(parameters_.data() + from.weights, from.transposed.data(),
                     {from.inputs, 0, from.outputs});
  backend_.add_product(from.errors.data(), from.transposed.data(), to.errors.data(),
                       {rows, from.outputs, from.inputs});
  backend_.relu_backward(to.activations.data(), to.errors.data(), errors);
}

std::size_t Network::correct(const Digits& batch) {
  const std::vector<float> outputs = forward(batch);
  std::size_t correct = 0;
  for (std::size_t row = 0; row < batch.count(); ++row) {
    const auto first = outputs.begin() + static_cast<std::ptrdiff_t>(row * kClasses);
    const auto largest = std::max_element(first, first + kClasses);
    correct += static_cast<std::size_t>(largest - first) == batch.labels[row] ? 1 : 0;
  }
  return correct;
}

}  // namespace train
