// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <atomic>

#include "core/error.hpp"
#include "kernels/cuda/driver.hpp"
#include "kernels/device.hpp"

namespace sparsecoll::cuda {

/// Throws sparsecollUnhandledCudaError, with `what` in the message, unless the call succeeded.
inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // the exception reports it; the next query must not
  fail(sparsecollUnhandledCudaError, what, ": ", cudaGetErrorString(error), " (",
       cudaGetErrorName(error), ")");
}

/// Ignores an error in releasing a resource: nothing can be done, and the next query must not
/// report it.
inline void ignore_error(cudaError_t error) {
  if (error != cudaSuccess) cudaGetLastError();
}

/// Sets the calling thread's current device and lets other threads capture streams meanwhile.
/// Restores both at the end.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) {
    check(cudaGetDevice(&before_), "cudaGetDevice");
    if (before_ != device) check(cudaSetDevice(device), "cudaSetDevice");
    changed_ = before_ != device;
    cudaThreadExchangeStreamCaptureMode(&mode_);
  }
  ~CurrentDevice() {
    cudaThreadExchangeStreamCaptureMode(&mode_);
    // A thread of the library may have no context on that device; setting it would create one.
    if (changed_ && context_exists_on(before_)) ignore_error(cudaSetDevice(before_));
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

class CudaEvent final : public Event {
 public:
  /// Whether the event records its time of completion.
  enum class Timing : unsigned { disabled = cudaEventDisableTiming, enabled = cudaEventDefault };

  explicit CudaEvent(Timing times = Timing::disabled) {
    check(cudaEventCreateWithFlags(&event_, static_cast<unsigned>(times)), "cudaEventCreate");
  }
  ~CudaEvent() override { ignore_error(cudaEventDestroy(event_)); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  /// Records the event: it stands for the work that the stream has now.
  void record(cudaStream_t stream) {
    check(cudaEventRecord(event_, stream), "cudaEventRecord");
    recorded_ = true;
  }
  /// Makes the stream wait for the event.
  void make_wait(cudaStream_t stream) const {
    if (recorded_) check(cudaStreamWaitEvent(stream, event_, 0), "cudaStreamWaitEvent");
  }
  void wait() const {
    if (recorded_) check(cudaEventSynchronize(event_), "cudaEventSynchronize");
  }
  bool passed() const {
    if (!recorded_) return true;
    const cudaError_t error = cudaEventQuery(event_);
    if (error != cudaErrorNotReady) check(error, "cudaEventQuery");
    ignore_error(error);
    return error == cudaSuccess;
  }
  /// Returns the time from `other` to this event; it is negative if `other` is later. Both must
  /// have completed and have timing enabled.
  float milliseconds_since(const CudaEvent& other) const {
    float time = 0;
    check(cudaEventElapsedTime(&time, other.event_, event_), "cudaEventElapsedTime");
    return time;
  }

 private:
  cudaEvent_t event_ = nullptr;
  std::atomic<bool> recorded_{false};
};

/// A stream of the highest priority that does not synchronize with the legacy default stream.
class CudaStream {
 public:
  CudaStream() {
    int least = 0, greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest),
          "cudaStreamCreateWithPriority");
  }
  ~CudaStream() { ignore_error(cudaStreamDestroy(stream_)); }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace sparsecoll::cuda
