// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "common/options.hpp"
#include "common/timing.hpp"
#include "kernels/cuda/backend.hpp"

namespace sparsecoll::perf::device {

/// Measures the times of calls on a backend's stream, by events directly before and after each
/// call. With --cold 1 the device's cache is overwritten between calls. This also keeps the device
/// busy while the host queues the next call, so that the times are those of kernels, not of
/// launches.
class KernelTimer {
 public:
  KernelTimer(cuda::Backend& backend, const Options& options);

  /// Makes options.warmup calls, then options.iterations timed ones; for slow calls, the fraction
  /// `part` of these numbers, but at least one timed call.
  Times measure(const std::function<void()>& call, double part = 1);

 private:
  void make_cold();

  cuda::Backend& backend_;
  const Options& options_;
  cuda::DeviceMemory memory_;
  Block overwritten_;  ///< overwritten between calls; twice as large as the cache
};

}  // namespace sparsecoll::perf::device
