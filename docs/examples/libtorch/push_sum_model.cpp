// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "push_sum_model.h"

namespace train {
namespace {

/// Returns one tensor of all values.
torch::Tensor flattened(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> flat;
  for (const torch::Tensor& tensor : tensors) flat.push_back(tensor.detach().reshape({-1}));
  return torch::cat(flat);
}

}  // namespace

PushSumModel::PushSumModel(sparsecoll::Communicator& comm,
                           const std::vector<torch::Tensor>& parameters)
    : comm_(comm),
      estimate_(flattened(parameters)),
      numerator_(estimate_.clone()),
      state_(comm, static_cast<std::size_t>(estimate_.numel())) {
  std::int64_t first = 0;
  for (torch::Tensor parameter : parameters) {
    parameter.set_data(estimate_.narrow(0, first, parameter.numel()).view(parameter.sizes()));
    first += parameter.numel();
  }
}

void PushSumModel::synchronize() {
  state_.drain(span(numerator_), span(estimate_));
  // The weights of all ranks add up to P, so that the mean of x is the mean of the models.
  comm_.sparseAllreduce(span(numerator_), span(estimate_), state_.count(), sparsecollAvg);
  // The mean is everyone's estimate from now on; the weights stay what they are.
  numerator_.copy_(estimate_).mul_(state_.weight());
}

}  // namespace train
