// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "common/options.hpp"
#include "common/timing.hpp"
#include "kernels/cuda/backend.hpp"

namespace sparsecoll::perf::device {

/// Seconds that calls take on a backend's stream, by events right before and behind each. Between
/// calls the device's cache is overwritten (--cold 1), which also keeps the device busy while the
/// host queues the next call: what is measured are kernels, not launches.
class KernelTimer {
 public:
  KernelTimer(cuda::Backend& backend, const Options& options);

  /// options.warmup calls, then options.iterations timed ones, or of each the part `part` (at least
  /// one timed call) of what is slow.
  Times measure(const std::function<void()>& call, double part = 1);

 private:
  void make_cold();

  cuda::Backend& backend_;
  const Options& options_;
  cuda::DeviceMemory memory_;
  Block overwritten_;  ///< twice as large as the cache
};

}  // namespace sparsecoll::perf::device
