// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "device/kernel_timer.hpp"

#include <cuda_runtime.h>

#include <cmath>
#include <vector>

namespace sparsecoll::perf::device {
namespace {

/// Owns a CUDA event.
class Event {
 public:
  Event() { cuda::check(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(const cuda::Backend& backend) {
    cuda::check(cudaEventRecord(event_, backend.stream()), "cudaEventRecord");
  }
  /// Returns the time between two events, both of which must be complete.
  double seconds_since(const Event& start) const {
    float milliseconds = 0;
    cuda::check(cudaEventElapsedTime(&milliseconds, start.event_, event_), "cudaEventElapsedTime");
    return milliseconds * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

size_t cache_bytes() {
  int device = 0, bytes = 0;
  cuda::check(cudaGetDevice(&device), "cudaGetDevice");
  cuda::check(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device),
              "cudaDeviceGetAttribute");
  return static_cast<size_t>(bytes);
}

}  // namespace

KernelTimer::KernelTimer(cuda::Backend& backend, const Options& options)
    : backend_(backend), options_(options) {
  if (options.cold) overwritten_ = Block(memory_, 2 * cache_bytes() + 1);
}

void KernelTimer::make_cold() {
  if (overwritten_.size() == 0) return;
  cuda::check(cudaMemsetAsync(overwritten_.data(), 1, overwritten_.size(), backend_.stream()),
              "cudaMemsetAsync");
}

Times KernelTimer::measure(const std::function<void()>& call, double part) {
  for (int i = 0; i < std::ceil(options_.warmup * part); ++i) {
    make_cold();
    call();
  }
  cuda::check(cudaStreamSynchronize(backend_.stream()), "a call to warm up");
  const auto calls = static_cast<size_t>(std::ceil(options_.iterations * part));
  std::vector<Event> start(calls), stop(calls);
  for (size_t i = 0; i < calls; ++i) {
    make_cold();
    start[i].record(backend_);
    call();
    stop[i].record(backend_);
  }
  cuda::check(cudaStreamSynchronize(backend_.stream()), "a timed call");
  std::vector<double> seconds;
  for (size_t i = 0; i < calls; ++i) seconds.push_back(stop[i].seconds_since(start[i]));
  return summary(std::move(seconds));
}

}  // namespace sparsecoll::perf::device
