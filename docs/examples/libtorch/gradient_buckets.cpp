// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "gradient_buckets.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace train {
namespace {

std::size_t count_of(const torch::Tensor& tensor) {
  return static_cast<std::size_t>(tensor.numel());
}

}  // namespace

GradientBuckets::GradientBuckets(sparsecoll::Communicator& comm,
                                 const std::vector<torch::Tensor>& parameters,
                                 const Settings& settings)
    : comm_(comm), gtopk_(settings.gtopk) {
  std::size_t values = 0;  // in the last bucket
  for (auto parameter = parameters.rbegin(); parameter != parameters.rend(); ++parameter) {
    if (parameter->scalar_type() != torch::kFloat32 || !parameter->is_cpu())
      throw std::invalid_argument("GradientBuckets: a parameter that is not float32 on the host");
    const std::size_t count = count_of(*parameter);
    if (buckets_.empty() || values + count > settings.bucket_values) {
      buckets_.emplace_back();
      values = 0;
    }
    values += count;
    const auto k = static_cast<std::size_t>(std::ceil(settings.density * double(count)));
    buckets_.back().parts.push_back({*parameter, {}, k, {comm, count}});
  }
  // Only now, because the hooks have addresses of buckets and parts.
  for (Bucket& bucket : buckets_) {
    bucket.missing = bucket.parts.size();
    torch::Tensor memory = torch::empty({0}, torch::kFloat32);
    std::int64_t size = 0;
    for (const Part& part : bucket.parts) size += part.parameter.numel();
    memory.resize_({size});
    std::int64_t first = 0;
    for (Part& part : bucket.parts) {
      const std::int64_t count = part.parameter.numel();
      part.place = memory.narrow(0, first, count).view(part.parameter.sizes());
      first += count;
      part.hook = part.parameter.register_hook(
          [this, &bucket, &part](const torch::Tensor& gradient) { fill(bucket, part, gradient); });
    }
  }
}

GradientBuckets::~GradientBuckets() {
  for (Bucket& bucket : buckets_)
    for (Part& part : bucket.parts) part.parameter.remove_hook(part.hook);
}

void GradientBuckets::fill(Bucket& bucket, Part& part, const torch::Tensor& gradient) {
  if (part.filled) throw std::logic_error("GradientBuckets: no wait() after a backward pass");
  if (!gradient.defined()) return;
  part.place.copy_(gradient);
  part.filled = true;
  --bucket.missing;
  // Ranks may fill their buckets in different orders, but must queue the same calls.
  while (next_ < buckets_.size() && buckets_[next_].missing == 0) queue(buckets_[next_++]);
}

void GradientBuckets::queue(Bucket& bucket) {
  sparsecoll::Group group(comm_);
  for (Part& part : bucket.parts) {
    const sparsecoll::Span<float> values(part.place.data_ptr<float>(), count_of(part.place));
    if (gtopk_)
      group.gtopkAllreduce(values, values, part.k, sparsecollAvg, &part.residual);
    else
      group.sparseAllreduce(values, values, part.k, sparsecollAvg, &part.residual);
  }
  group.end();
}

void GradientBuckets::wait() {
  const torch::NoGradGuard no_grad;
  for (Bucket& bucket : buckets_)
    for (Part& part : bucket.parts)
      if (!part.filled) part.place.zero_();
  while (next_ < buckets_.size()) queue(buckets_[next_++]);
  comm_.synchronize();
  for (Bucket& bucket : buckets_) {
    for (Part& part : bucket.parts) {
      torch::Tensor& gradient = part.parameter.mutable_grad();
      // A copy: backward passes add to the gradient where the optimizer does not remove it.
      if (gradient.defined())
        gradient.copy_(part.place);
      else
        gradient = part.place.clone();
      part.filled = false;
    }
    bucket.missing = bucket.parts.size();
  }
  next_ = 0;
}

}  // namespace train
