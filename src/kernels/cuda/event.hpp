// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <atomic>

#include "core/error.hpp"
#include "kernels/cuda/driver.hpp"
#include "kernels/device.hpp"

namespace sparsecoll::cuda {

/// Throws sparsecollUnhandledCudaError, which names what was tried.
inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // told here; whoever asks next is not told again
  fail(sparsecollUnhandledCudaError, what, ": ", cudaGetErrorString(error), " (",
       cudaGetErrorName(error), ")");
}

/// For what gives something back: nothing can be done about it, and whoever asks next is not told.
inline void forgive(cudaError_t error) {
  if (error != cudaSuccess) cudaGetLastError();
}

/// The calling thread's current device, and that other threads may capture graphs meanwhile; both
/// are put back at the end.
class Current {
 public:
  explicit Current(int device) {
    check(cudaGetDevice(&before_), "cudaGetDevice");
    if (before_ != device) check(cudaSetDevice(device), "cudaSetDevice");
    changed_ = before_ != device;
    cudaThreadExchangeStreamCaptureMode(&mode_);
  }
  ~Current() {
    cudaThreadExchangeStreamCaptureMode(&mode_);
    // Where nobody works on it, as in a thread of the library, to set it would make a context.
    if (changed_ && context_exists_on(before_)) forgive(cudaSetDevice(before_));
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

class CudaEvent final : public Event {
 public:
  /// Whether the device notes when it passes.
  enum class Times : unsigned { none = cudaEventDisableTiming, kept = cudaEventDefault };

  explicit CudaEvent(Times times = Times::none) {
    check(cudaEventCreateWithFlags(&event_, static_cast<unsigned>(times)), "cudaEventCreate");
  }
  ~CudaEvent() override { forgive(cudaEventDestroy(event_)); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  /// It stands for what is on the stream now.
  void record(cudaStream_t stream) {
    check(cudaEventRecord(event_, stream), "cudaEventRecord");
    recorded_ = true;
  }
  /// The stream goes on when that is done.
  void hold(cudaStream_t stream) const {
    if (recorded_) check(cudaStreamWaitEvent(stream, event_, 0), "cudaStreamWaitEvent");
  }
  void wait() const {
    if (recorded_) check(cudaEventSynchronize(event_), "cudaEventSynchronize");
  }
  bool passed() const {
    if (!recorded_) return true;
    const cudaError_t error = cudaEventQuery(event_);
    if (error != cudaErrorNotReady) check(error, "cudaEventQuery");
    forgive(error);
    return error == cudaSuccess;
  }
  /// Of two that have passed, with times; negative where the other one came later.
  float milliseconds_since(const CudaEvent& other) const {
    float time = 0;
    check(cudaEventElapsedTime(&time, other.event_, event_), "cudaEventElapsedTime");
    return time;
  }

 private:
  cudaEvent_t event_ = nullptr;
  std::atomic<bool> recorded_{false};
};

}  // namespace sparsecoll::cuda
