// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Events and captures for tests of the emulator.

#include <vector>

#include "devices/device_array.hpp"
#include "kernels/cuda/simt_run.hpp"

namespace sparsecoll::cuda_test {

using devices::check;
using devices::DeviceArray;
using devices::OwnStream;
using Numbers = std::vector<unsigned>;

inline constexpr auto kGlobal = cudaStreamCaptureModeGlobal;
inline constexpr auto kOfThread = cudaStreamCaptureModeThreadLocal;
inline constexpr auto kRelaxed = cudaStreamCaptureModeRelaxed;

class CudaEvent {
 public:
  CudaEvent() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~CudaEvent() { cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  operator cudaEvent_t() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// A stream whose capture has begun.
class Captured {
 public:
  explicit Captured(cudaStreamCaptureMode mode = kOfThread,
                    unsigned flags = cudaStreamNonBlocking) {
    check(cudaStreamCreateWithFlags(&stream_, flags));
    check(cudaStreamBeginCapture(stream_, mode));
  }
  ~Captured() {
    if (!ended_) end();
    cudaStreamDestroy(stream_);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  operator cudaStream_t() const { return stream_; }

  cudaStreamCaptureStatus status() const {
    cudaStreamCaptureStatus status{};
    check(cudaStreamIsCapturing(stream_, &status));
    return status;
  }
  /// Ends the capture and creates a graph if it is valid.
  cudaError_t end() {
    ended_ = true;
    cudaGraph_t graph = nullptr;
    const cudaError_t error = cudaStreamEndCapture(stream_, &graph);
    CHECK((error == cudaSuccess) == (graph != nullptr));
    if (graph) check(cudaGraphDestroy(graph));
    return error;
  }
  /// Checks that the capture is invalid: all calls fail and there is no graph.
  void check_broken() {
    CHECK(status() == cudaStreamCaptureStatusInvalidated);
    CHECK(cudaMemsetAsync(there_.get(), 0, 4, stream_) == cudaErrorStreamCaptureInvalidated);
    CHECK(end() == cudaErrorStreamCaptureInvalidated);
    CHECK(status() == cudaStreamCaptureStatusNone);
    check(cudaMemsetAsync(there_.get(), 0, 4, stream_));
    check(cudaStreamSynchronize(stream_));
  }

 private:
  DeviceArray<unsigned> there_{1};
  cudaStream_t stream_ = nullptr;
  bool ended_ = false;
};

}  // namespace sparsecoll::cuda_test
