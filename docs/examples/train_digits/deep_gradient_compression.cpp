// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "deep_gradient_compression.h"

#include <algorithm>

#include "reducer.h"
#include "world.h"

namespace train {

sparsecollSparse_t DeepGradientCompression::Entries::of(std::size_t count, std::size_t capacity) {
  indices.resize(capacity);
  values.resize(capacity);
  sparsecollSparse_t sparse = SPARSECOLL_SPARSE_INITIALIZER;
  sparse.count = count;
  sparse.capacity = capacity;
  sparse.indices = indices.data();
  sparse.values = values.data();
  sparse.indexType = sparsecollIndex32;
  sparse.datatype = sparsecollFloat32;
  return sparse;
}

DeepGradientCompression::DeepGradientCompression(const Problem& problem)
    : learning_rate_(static_cast<float>(problem.options.learning_rate)),
      momentum_(static_cast<float>(problem.options.momentum)),
      comm_(problem.comm),
      velocity_(problem.parameters.size()) {
  int ranks = 0;
  require(sparsecollCommCount(comm_, &ranks), comm_);
  ranks_ = static_cast<std::size_t>(ranks);
  require(sparsecollResidualCreate(&residual_, velocity_.size(), sparsecollFloat32, comm_), comm_);
}

DeepGradientCompression::~DeepGradientCompression() { sparsecollResidualDestroy(residual_); }

void DeepGradientCompression::step(std::span<const float> gradient, std::span<float> parameters,
                                   double density) {
  const std::size_t count = velocity_.size();
  for (std::size_t i = 0; i < count; ++i) {  // 1
    velocity_[i] = momentum_ * velocity_[i] + gradient[i];
  }
  const std::size_t k = entries_to_keep(density, count);
  sparsecollSparse_t sent = mine_.of(count, k);
  require(sparsecollTopk(velocity_.data(), count, k, sparsecollFloat32, residual_, &sent, comm_,
                         nullptr),
          comm_);  // 2, and of 3 the choice
  for (std::size_t j = 0; j < sent.nnz; ++j) velocity_[mine_.indices[j]] = 0;  // 4
  // Every entry of every rank is delivered: no rank has anything to put back into its residual.
  sparsecollSparse_t mean = all_.of(count, std::min(count, k * ranks_));
  require(sparseAllreducev(&sent, &mean, SPARSECOLL_ALL, sparsecollAvg, nullptr, comm_, nullptr),
          comm_);  // 3
  for (std::size_t j = 0; j < mean.nnz; ++j) {
    parameters[all_.indices[j]] -= learning_rate_ * all_.values[j];  // 5
  }
}

void DeepGradientCompression::agree(std::span<float> parameters, std::span<float> model) {
  std::copy(parameters.begin(), parameters.end(), model.begin());
}

}  // namespace train
