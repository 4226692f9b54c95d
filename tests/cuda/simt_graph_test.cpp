// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Graphs of the machine without a GPU: what is captured, and what breaks a capture.

#include <thread>

#include "cuda/simt_run.hpp"
#include "devices/device_array.hpp"

namespace sparsecoll::cuda_test {
namespace {

using devices::check;
using devices::DeviceArray;
using devices::OwnStream;
using Numbers = std::vector<unsigned>;

constexpr auto kGlobal = cudaStreamCaptureModeGlobal;
constexpr auto kOfThread = cudaStreamCaptureModeThreadLocal;
constexpr auto kRelaxed = cudaStreamCaptureModeRelaxed;

__global__ void add_one(unsigned* to) {
  if (threadIdx.x == 0) ++*to;
}

struct Event {
  Event() { check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming)); }
  ~Event() { cudaEventDestroy(event); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator cudaEvent_t() const { return event; }
  cudaEvent_t event = nullptr;
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
  /// Whether there is a graph.
  cudaError_t end() {
    ended_ = true;
    cudaGraph_t graph = nullptr;
    const cudaError_t error = cudaStreamEndCapture(stream_, &graph);
    CHECK((error == cudaSuccess) == (graph != nullptr));
    if (graph) check(cudaGraphDestroy(graph));
    return error;
  }
  /// It was broken by what came before: nothing is taken any more, and there is no graph.
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

TEST_CASE(
    "a graph runs what was captured, with the arguments of then, as often as it is launched") {
  const OwnStream stream;
  const DeviceArray<unsigned> sum(Numbers{5}), out(Numbers{0});
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, kGlobal));
  cuda::Place* place = nullptr;
  {
    cudaStreamCaptureMode mode = kRelaxed;  // a place allocates
    cudaThreadExchangeStreamCaptureMode(&mode);
    place = new cuda::Place(stream);
    cudaThreadExchangeStreamCaptureMode(&mode);
  }
  unsigned* at = sum.get();
  cuda::launch(*place, 1, add_one, at);
  at = nullptr;
  check(cudaMemcpyAsync(out.get(), sum.get(), 4, cudaMemcpyDeviceToDevice, stream));
  check(cudaMemsetAsync(sum.get() + 1, 9, 4, stream));
  check(cudaStreamEndCapture(stream, &graph));
  delete place;
  cudaGraphExec_t ready = nullptr;
  check(cudaGraphInstantiate(&ready, graph, 0));
  check(cudaGraphDestroy(graph));
  CHECK(sum.read(stream) == Numbers{5});
  for (int launch = 0; launch < 100; ++launch) check(cudaGraphLaunch(ready, stream));
  CHECK(sum.read(OwnStream()) == Numbers{5});  // not yet
  CHECK(out.read(stream) == Numbers{105});
  check(cudaGraphLaunch(ready, stream));
  check(cudaMemsetAsync(out.get(), 0, 4, stream));  // after the graph
  check(cudaGraphExecDestroy(ready));               // what is launched goes on
  CHECK(out.read(stream) == Numbers{0});
  CHECK(sum.read(stream) == Numbers{106});
}

TEST_CASE("launches of one graph on two streams come one after the other") {
  const OwnStream stream, other;
  const DeviceArray<unsigned> sum(Numbers{0});
  const cuda::Place place(stream);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  check(cudaStreamBeginCapture(stream, kOfThread));
  cuda::launch(place, 1, add_one, sum.get());
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&ready, graph, 0));
  check(cudaGraphDestroy(graph));
  check(cudaGraphLaunch(ready, stream));
  check(cudaGraphLaunch(ready, other));
  CHECK(sum.read(other) == Numbers{2});
  check(cudaGraphExecDestroy(ready));
}

TEST_CASE("other streams join a capture by an event, and have to come back") {
  const Event event;
  const OwnStream other;
  const DeviceArray<unsigned> one(Numbers{1}), two(Numbers{2});
  for (const bool back : {true, false}) {
    Captured stream;
    check(cudaEventRecord(event, stream));
    check(cudaStreamWaitEvent(other, event, 0));
    check(cudaMemsetAsync(one.get(), 3, 4, other));
    check(cudaEventRecord(event, other));
    if (back) {
      check(cudaStreamWaitEvent(stream, event, 0));
      check(cudaMemcpyAsync(two.get(), one.get(), 4, cudaMemcpyDeviceToDevice, stream));
      CHECK(stream.end() == cudaSuccess);
    } else {
      CHECK(stream.end() == cudaErrorStreamCaptureUnjoined);
    }
    cudaStreamCaptureStatus status{};
    check(cudaStreamIsCapturing(other, &status));
    CHECK(status == cudaStreamCaptureStatusNone);
  }
  Captured stream;
  check(cudaEventRecord(event, stream));
  check(cudaStreamWaitEvent(other, event, 0));
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(other, &graph) == cudaErrorStreamCaptureUnmatched);
  CHECK(cudaStreamBeginCapture(stream, kOfThread) == cudaErrorIllegalState);
  stream.check_broken();
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorIllegalState);
  CHECK(cudaStreamBeginCapture(nullptr, kRelaxed) == cudaErrorStreamCaptureUnsupported);
}

TEST_CASE("nobody waits for what is captured, nor asks for it") {
  const Event event;
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
  const Event before, within;
  {
    Captured stream;
    check(cudaStreamWaitEvent(stream, before, 0));  // never recorded
    check(cudaEventRecord(before, other));
    CHECK(cudaStreamWaitEvent(stream, before, 0) == cudaErrorStreamCaptureIsolation);
    stream.check_broken();
  }
  {
    Captured one(kRelaxed), two(kRelaxed);  // others may allocate meanwhile
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

/// What may wait for a capture, in this thread with its mode; whether it is allowed.
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

TEST_CASE("memory that a graph copies is still there") {
  check_found(
      [] {
        const OwnStream stream;
        const DeviceArray<unsigned> to(1);
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t ready = nullptr;
        {
          const DeviceArray<unsigned> from(1);
          cudaStreamBeginCapture(stream, kOfThread);
          cudaMemcpyAsync(to.get(), from.get(), 4, cudaMemcpyDeviceToDevice, stream);
          cudaStreamEndCapture(stream, &graph);
        }
        cudaGraphInstantiate(&ready, graph, 0);
        cudaGraphLaunch(ready, stream);
        cudaStreamSynchronize(stream);
      },
      "memory has been freed");
}

TEST_CASE("a graph that is gone ends the program when it is used") {
  for (const bool ready : {true, false})
    check_found(
        [&] {
          const OwnStream stream;
          cudaGraph_t graph = nullptr;
          cudaGraphExec_t exec = nullptr;
          cudaStreamBeginCapture(stream, kOfThread);
          cudaStreamEndCapture(stream, &graph);
          cudaGraphInstantiate(&exec, graph, 0);
          cudaGraphDestroy(graph);
          if (!ready) cudaGraphDestroy(graph);
          cudaGraphExecDestroy(exec);
          cudaGraphLaunch(exec, stream);
        },
        "a graph that was destroyed");
}

}  // namespace
}  // namespace sparsecoll::cuda_test
