// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstddef>
#include <sparsecoll/sparsecoll.hpp>
#include <vector>

namespace train {

/// Replaces a model's gradients by their means over all ranks, beside the backward pass:
///
///   GradientBuckets buckets(comm, model->parameters(), {});
///   loss.backward();   // hooks fill the buckets, and queue the calls of each bucket that is full
///   buckets.wait();    // gradients are now the means
///   optimizer.step();
///
/// Each bucket is one group of calls, with a call, a k and a residual for each parameter. Buckets
/// are filled from the last parameter backwards, and queued in this order on all ranks. Parameters
/// that a rank's backward pass does not reach have the gradient 0 there.
class GradientBuckets {
 public:
  struct Settings {
    double density = 0.01;              ///< k / n of each parameter
    bool gtopk = false;                 ///< gtopkAllreduce instead of sparseAllreduce
    std::size_t bucket_values = 32768;  ///< a bucket takes parameters while they fit
  };

  /// `comm`: with blocking = 0; it outlives this object, and all ranks make their objects with the
  /// same parameters in the same order. `parameters`: of float32, on the host.
  GradientBuckets(sparsecoll::Communicator& comm, const std::vector<torch::Tensor>& parameters,
                  const Settings& settings);
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;
  ~GradientBuckets();

  /// Waits until the calls have ended, and gives each parameter the mean as its gradient. It stands
  /// between each backward pass and the next, on all ranks.
  void wait();

 private:
  struct Part {
    torch::Tensor parameter;
    torch::Tensor place;  ///< a view of the bucket's memory, in the shape of the parameter
    std::size_t k = 0;
    sparsecoll::Residual<float> residual;
    bool filled = false;  ///< in this backward pass
    unsigned hook = 0;
  };
  struct Bucket {
    std::vector<Part> parts;
    std::size_t missing = 0;  ///< parts that are not filled
  };

  void fill(Bucket& bucket, Part& part, const torch::Tensor& gradient);
  void queue(Bucket& bucket);

  sparsecoll::Communicator& comm_;
  bool gtopk_;
  std::vector<Bucket> buckets_;
  std::size_t next_ = 0;  ///< the bucket to be queued next
};

}  // namespace train
