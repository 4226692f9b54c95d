// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests that streams of the emulator run in no stricter order than the program requests.

#include <chrono>
#include <mutex>
#include <thread>

#include "kernels/cuda/simt_captured.hpp"

namespace sparsecoll::cuda_test {
namespace {

void fill(const DeviceArray<unsigned>& numbers, int value, cudaStream_t stream) {
  check(cudaMemsetAsync(numbers.get(), value, numbers.size() * sizeof(unsigned), stream));
}
void copy(const DeviceArray<unsigned>& from, const DeviceArray<unsigned>& to, cudaStream_t stream) {
  check(cudaMemcpyAsync(to.get(), from.get(), from.size() * sizeof(unsigned),
                        cudaMemcpyDeviceToDevice, stream));
}
/// Reads the results of the work that has run so far.
Numbers now(const DeviceArray<unsigned>& numbers) { return numbers.read(OwnStream()); }

TEST_CASE("a question runs what can run, and tells what was before") {
  const OwnStream stream;
  const CudaEvent event;
  CHECK(cudaEventQuery(event) == cudaSuccess);
  const DeviceArray<unsigned> numbers(Numbers{1});
  fill(numbers, 2, stream);
  check(cudaEventRecord(event, stream));
  fill(numbers, 3, stream);
  CHECK(now(numbers) == Numbers{1});
  CHECK(cudaEventQuery(event) == cudaErrorNotReady);
  CHECK(now(numbers) == Numbers{0x02020202u});  // work after the event has not run
  CHECK(cudaEventQuery(event) == cudaSuccess);
  CHECK(cudaStreamQuery(stream) == cudaErrorNotReady);
  CHECK(cudaStreamQuery(stream) == cudaSuccess);
  CHECK(now(numbers) == Numbers{0x03030303u});
}

TEST_CASE("a stream waits for what an event was recorded after, and for nothing else") {
  const OwnStream one, two;
  const CudaEvent event;
  const DeviceArray<unsigned> from(Numbers{1}), to(Numbers{0});
  fill(from, 2, one);
  check(cudaEventRecord(event, one));
  fill(from, 3, one);
  check(cudaStreamWaitEvent(two, event, 0));
  copy(from, to, two);
  check(cudaEventRecord(event, two));  // the wait is for the event's earlier state
  CHECK(to.read(two) == Numbers{0x02020202u});
  check(cudaEventSynchronize(event));
  CHECK(cudaStreamQuery(one) == cudaErrorNotReady);
}

TEST_CASE("events note when they pass if they were made to") {
  const OwnStream stream;
  cudaEvent_t events[3];
  for (cudaEvent_t& event : events) check(cudaEventCreateWithFlags(&event, cudaEventDefault));
  const CudaEvent timeless;
  float time = 0;
  CHECK(cudaEventElapsedTime(&time, events[0], events[1]) == cudaErrorInvalidResourceHandle);
  const DeviceArray<unsigned> numbers(Numbers{1});
  check(cudaEventRecord(events[0], stream));
  fill(numbers, 2, stream);
  check(cudaEventRecord(events[1], stream));
  CHECK(cudaEventElapsedTime(&time, events[0], events[1]) == cudaErrorNotReady);
  check(cudaEventSynchronize(events[1]));
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  check(cudaEventRecord(events[2], stream));
  check(cudaEventRecord(timeless, stream));
  check(cudaStreamSynchronize(stream));
  CHECK(cudaEventElapsedTime(&time, events[0], events[1]) == cudaSuccess);
  CHECK(time >= 0);
  CHECK(cudaEventElapsedTime(&time, events[1], events[2]) == cudaSuccess);
  CHECK(time >= 2);
  CHECK(cudaEventElapsedTime(&time, events[2], events[1]) == cudaSuccess);
  CHECK(time <= -2);
  CHECK(cudaEventElapsedTime(&time, events[0], timeless) == cudaErrorInvalidResourceHandle);
  for (const cudaEvent_t event : events) check(cudaEventDestroy(event));
}

TEST_CASE("each device has a legacy stream, in order with its blocking streams") {
  cudaStream_t blocking = nullptr;
  check(cudaStreamCreateWithFlags(&blocking, 0));
  const DeviceArray<unsigned> numbers(Numbers{1}), to(Numbers{0});
  fill(numbers, 2, blocking);
  copy(numbers, to, nullptr);
  fill(numbers, 3, blocking);
  check(cudaSetDevice(1));
  check(cudaStreamSynchronize(nullptr));
  CHECK(now(to) == Numbers{0});
  check(cudaSetDevice(0));
  check(cudaStreamSynchronize(nullptr));
  CHECK(now(to) == Numbers{0x02020202u});
  copy(numbers, to, nullptr);
  fill(numbers, 4, blocking);
  check(cudaStreamDestroy(blocking));  // its work continues
  CHECK(to.read() == Numbers{0x03030303u});
  check(cudaDeviceSynchronize());
  CHECK(now(numbers) == Numbers{0x04040404u});
}

__global__ void add_one_after(unsigned* to, unsigned expected, unsigned* wrong) {
  if (threadIdx.x != 0) return;
  if (*to != expected) ++*wrong;
  ++*to;
}

TEST_CASE("kernels and events need a stream of their device, copies and waits do not") {
  const OwnStream stream;
  const CudaEvent event;
  const DeviceArray<unsigned> numbers(Numbers{1}), wrong(Numbers{0});
  cuda::launch(cuda::Backend(stream), 1, add_one_after, numbers.get(), 1u, wrong.get());
  check(cudaEventRecord(event, stream));
  check(cudaSetDevice(1));
  {
    const OwnStream other;
    const CudaEvent event_there;
    CHECK(cudaEventRecord(event_there, stream) == cudaErrorInvalidResourceHandle);
    CHECK(cudaEventRecord(event, other) == cudaErrorInvalidResourceHandle);
    CHECK_THROWS(
        cuda::launch(cuda::Backend(stream), 1, add_one_after, numbers.get(), 2u, wrong.get()));
    check(cudaStreamWaitEvent(other, event, 0));
    CHECK(numbers.read(other) == Numbers{2});
  }
  check(cudaSetDevice(0));
}

TEST_CASE("many threads that wait for one stream run its work once, and in order") {
  const OwnStream stream;
  const DeviceArray<unsigned> sum(Numbers{0}), wrong(Numbers{0});
  std::mutex mutex;
  unsigned launched = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const cuda::Backend backend(stream);
      for (int round = 0; round < 100; ++round) {
        {
          const std::lock_guard lock(mutex);
          cuda::launch(backend, 1, add_one_after, sum.get(), launched++, wrong.get());
        }
        if (t % 2 == 0)
          check(cudaStreamSynchronize(stream));
        else
          cudaStreamQuery(stream);
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong.read(stream) == Numbers{0});
  CHECK(sum.read(stream) == Numbers{400});
}

TEST_CASE("a stream that is gone ends the program when it is used") {
  check_found(
      [] {
        cudaStream_t stream = nullptr;
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        cudaStreamDestroy(stream);
        cudaStreamSynchronize(stream);
      },
      "a stream that was destroyed");
}

}  // namespace
}  // namespace sparsecoll::cuda_test
