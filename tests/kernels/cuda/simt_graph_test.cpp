// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests that graphs of the emulator run the captured work.

#include "kernels/cuda/simt_captured.hpp"

namespace sparsecoll::cuda_test {
namespace {

__global__ void add_one(unsigned* to) {
  if (threadIdx.x == 0) ++*to;
}

TEST_CASE("a graph runs what was captured, as often as it is launched") {
  const OwnStream stream;
  const DeviceArray<unsigned> sum(Numbers{5}), out(Numbers{0});
  const cuda::Backend backend(stream);
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, kGlobal));
  unsigned* at = sum.get();
  cuda::launch(backend, 1, add_one, at);
  at = nullptr;
  check(cudaMemcpyAsync(out.get(), sum.get(), 4, cudaMemcpyDeviceToDevice, stream));
  check(cudaMemsetAsync(sum.get() + 1, 9, 4, stream));
  check(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t ready = nullptr;
  check(cudaGraphInstantiate(&ready, graph, 0));
  check(cudaGraphDestroy(graph));
  CHECK(sum.read(stream) == Numbers{5});
  for (int launch = 0; launch < 100; ++launch) check(cudaGraphLaunch(ready, stream));
  CHECK(sum.read(OwnStream()) == Numbers{5});  // not yet
  CHECK(out.read(stream) == Numbers{105});
  check(cudaGraphLaunch(ready, stream));
  check(cudaMemsetAsync(out.get(), 0, 4, stream));  // after the graph
  check(cudaGraphExecDestroy(ready));               // launched graphs continue
  CHECK(out.read(stream) == Numbers{0});
  CHECK(sum.read(stream) == Numbers{106});
}

TEST_CASE("launches of one graph on two streams come one after the other") {
  const OwnStream stream, other;
  const DeviceArray<unsigned> sum(Numbers{0});
  const cuda::Backend backend(stream);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  check(cudaStreamBeginCapture(stream, kOfThread));
  cuda::launch(backend, 1, add_one, sum.get());
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&ready, graph, 0));
  check(cudaGraphDestroy(graph));
  check(cudaGraphLaunch(ready, stream));
  check(cudaGraphLaunch(ready, other));
  CHECK(sum.read(other) == Numbers{2});
  check(cudaGraphExecDestroy(ready));
}

TEST_CASE("other streams join a capture by an event, and have to come back") {
  const CudaEvent event;
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
