// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "reducer.h"

#include <algorithm>
#include <cmath>

#include "world.h"

namespace train {

std::size_t entries_to_keep(double density, std::size_t count) {
  const double k = std::round(density * static_cast<double>(count));
  return std::max<std::size_t>(1, static_cast<std::size_t>(k));
}

Reducer::Reducer(const Problem& problem, std::span<const std::size_t> tensors)
    : mode_(problem.options.mode),
      comm_(problem.comm),
      stream_(problem.backend.stream()),
      calls_(problem.calls) {
  std::size_t first = 0;
  std::size_t group_bytes = 0;
  for (const std::size_t count : tensors) {
    Tensor tensor;
    tensor.first = first;
    tensor.count = count;
    first += count;
    // A group takes tensors while they fit in --fusion. A larger tensor is a group of its own.
    tensor.opens_group =
        tensors_.empty() || group_bytes + count * sizeof(float) > problem.options.fusion_bytes;
    group_bytes = count * sizeof(float) + (tensor.opens_group ? 0 : group_bytes);
    require(sparsecollResidualCreate(&tensor.residual, count, sparsecollFloat32, comm_), comm_);
    tensors_.push_back(tensor);
  }
}

Reducer::~Reducer() {
  for (const Tensor& tensor : tensors_) sparsecollResidualDestroy(tensor.residual);
}

void Reducer::move_to(sparsecollComm_t comm) {
  for (const Tensor& tensor : tensors_)
    require(sparsecollResidualMove(tensor.residual, comm), comm);
  comm_ = comm;
}

void Reducer::average(std::span<const float> gradient, std::span<float> mean, double density) {
  const Stopwatch watch(calls_);
  const auto verb = mode_ == Mode::gtopk ? gtopkAllreduce : sparseAllreduce;
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    const Tensor& tensor = tensors_[t];
    if (tensor.opens_group) require(sparsecollGroupStart(comm_), comm_);
    require(verb(gradient.data() + tensor.first, mean.data() + tensor.first, tensor.count,
                 entries_to_keep(density, tensor.count), sparsecollFloat32, sparsecollAvg,
                 tensor.residual, comm_, stream_),
            comm_);
    const bool closes = t + 1 == tensors_.size() || tensors_[t + 1].opens_group;
    if (closes) require(sparsecollGroupEnd(comm_), comm_);
  }
}

}  // namespace train
