// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests that the emulator invalidates a capture wherever a GPU does.

#include <thread>

#include "kernels/cuda/simt_captured.hpp"

namespace sparsecoll::cuda_test {
namespace {

TEST_CASE("nobody waits for what is captured, nor asks for it") {
  const CudaEvent event;
  for (const auto mode : {kOfThread, kRelaxed})
    for (const auto call :
         {+[](cudaStream_t stream, cudaEvent_t) { return cudaStreamSynchronize(stream); },
          +[](cudaStream_t stream, cudaEvent_t) { return cudaStreamQuery(stream); },
          +[](cudaStream_t, cudaEvent_t event_) { return cudaEventSynchronize(event_); },
          +[](cudaStream_t, cudaEvent_t event_) { return cudaEventQuery(event_); },
          +[](cudaStream_t, cudaEvent_t) { return cudaDeviceSynchronize(); }}) {
      Captured stream(mode);
      check(cudaEventRecord(event, stream));
      cudaError_t got = cudaSuccess;
      std::thread([&] { got = call(stream, event); }).join();
      CHECK((got == cudaErrorStreamCaptureUnsupported || got == cudaErrorCapturedEvent));
      stream.check_broken();
    }
}

TEST_CASE("events do not lead in or out of a capture") {
  const OwnStream other;
  const CudaEvent before, within;
  {
    Captured stream;
    check(cudaStreamWaitEvent(stream, before, 0));  // the event was never recorded
    check(cudaEventRecord(before, other));
    CHECK(cudaStreamWaitEvent(stream, before, 0) == cudaErrorStreamCaptureIsolation);
    stream.check_broken();
  }
  {
    Captured one(kRelaxed), two(kRelaxed);  // other threads may allocate meanwhile
    check(cudaEventRecord(within, one));
    CHECK(cudaStreamWaitEvent(two, within, 0) == cudaErrorStreamCaptureMerge);
    one.check_broken();
    two.check_broken();
  }
  CHECK(cudaStreamWaitEvent(other, within, 0) == cudaErrorStreamCaptureIsolation);
  check(cudaEventRecord(within, other));
  check(cudaStreamWaitEvent(other, within, 0));
}

TEST_CASE("the legacy stream would have to wait for a captured blocking one") {
  const DeviceArray<unsigned> numbers(Numbers{1});
  {
    Captured stream(kRelaxed, 0);
    cudaStreamCaptureStatus status{};
    CHECK(cudaStreamIsCapturing(nullptr, &status) == cudaErrorStreamCaptureImplicit);
    CHECK(stream.status() == cudaStreamCaptureStatusActive);
    CHECK(cudaMemsetAsync(numbers.get(), 0, 4, nullptr) == cudaErrorStreamCaptureImplicit);
    stream.check_broken();
  }
  Captured stream(kRelaxed);
  check(cudaMemsetAsync(numbers.get(), 0, 4, nullptr));
  CHECK(stream.end() == cudaSuccess);
}

/// Makes a call that is unsafe during a capture, in this thread's mode. Returns whether it is
/// allowed.
bool allowed(cudaStreamCaptureMode mode) {
  const OwnStream other;
  cudaThreadExchangeStreamCaptureMode(&mode);
  void* at = nullptr;
  const cudaError_t error = cudaMalloc(&at, 4);
  CHECK(cudaStreamQuery(other) == error);
  cudaThreadExchangeStreamCaptureMode(&mode);
  if (error == cudaSuccess) {
    cudaThreadExchangeStreamCaptureMode(&(mode = kRelaxed));
    check(cudaFree(at));
    cudaThreadExchangeStreamCaptureMode(&mode);
  } else {
    CHECK(error == cudaErrorStreamCaptureUnsupported);
  }
  return error == cudaSuccess;
}

TEST_CASE("calls that might wait for a capture are refused as the modes say, and break it") {
  for (const auto captured : {kGlobal, kOfThread, kRelaxed})
    for (const auto own : {kGlobal, kOfThread, kRelaxed})
      for (const bool elsewhere : {false, true}) {
        CAPTURE(captured, own, elsewhere);
        bool expected = own == kRelaxed || captured == kRelaxed;
        if (elsewhere) expected = own != kGlobal || captured != kGlobal;
        Captured stream(captured);
        bool got = false;
        if (elsewhere)
          std::thread([&] { got = allowed(own); }).join();
        else
          got = allowed(own);
        CHECK(got == expected);
        CHECK(stream.end() == (got ? cudaSuccess : cudaErrorStreamCaptureInvalidated));
      }
}

TEST_CASE("a capture ends in the thread where it began, unless it is relaxed") {
  for (const auto mode : {kGlobal, kOfThread, kRelaxed}) {
    Captured stream(mode);
    cudaError_t got = cudaSuccess;
    std::thread([&] { got = stream.end(); }).join();
    CHECK(got == (mode == kRelaxed ? cudaSuccess : cudaErrorStreamCaptureWrongThread));
    if (mode != kRelaxed) CHECK(stream.end() == cudaErrorStreamCaptureInvalidated);
  }
}

}  // namespace
}  // namespace sparsecoll::cuda_test
