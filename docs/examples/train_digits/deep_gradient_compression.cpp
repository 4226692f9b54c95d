// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "deep_gradient_compression.h"

#include <algorithm>

#include "reducer.h"
#include "world.h"

namespace train {

sparsecollSparse_t DeepGradientCompression::Entries::describe(std::size_t count,
                                                              std::size_t capacity) {
  indices.reserve(capacity);
  values.reserve(capacity);
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
      backend_(problem.backend),
      calls_(problem.calls),
      velocity_(backend_, problem.parameters.size()),
      mine_{Vector<std::uint32_t>(backend_), Vector<float>(backend_)},
      all_{Vector<std::uint32_t>(backend_), Vector<float>(backend_)} {
  int ranks = 0;
  require(sparsecollCommCount(comm_, &ranks), comm_);
  ranks_ = static_cast<std::size_t>(ranks);
  require(sparsecollResidualCreate(&residual_, velocity_.size(), sparsecollFloat32, comm_), comm_);
}

DeepGradientCompression::~DeepGradientCompression() { sparsecollResidualDestroy(residual_); }

void DeepGradientCompression::step(std::span<const float> gradient, std::span<float> parameters,
                                   double density) {
  const std::size_t count = velocity_.size();
  backend_.accumulate(velocity_.span(), momentum_, gradient.data());  // 1.
  const std::size_t k = entries_to_keep(density, count);
  sparsecollSparse_t sent = mine_.describe(count, k);
  {
    const Stopwatch watch(calls_);
    require(sparsecollTopk(velocity_.data(), count, k, sparsecollFloat32, residual_, &sent, comm_,
                           backend_.stream()),
            comm_);  // 2., and the selection of 3.
  }
  backend_.clear(velocity_.data(), sent);  // 4.
  // All entries of all ranks are delivered, so that no residual gets entries back.
  sparsecollSparse_t mean = all_.describe(count, std::min(count, k * ranks_));
  {
    const Stopwatch watch(calls_);
    require(sparseAllreducev(&sent, &mean, SPARSECOLL_ALL, sparsecollAvg, nullptr, comm_,
                             backend_.stream()),
            comm_);  // 3.
  }
  backend_.descend(parameters.data(), learning_rate_, mean);  // 5.
}

void DeepGradientCompression::average_models(std::span<const float> parameters,
                                             std::span<float> model) {
  backend_.copy(parameters.data(), model.data(), model.size());
}

}  // namespace train
