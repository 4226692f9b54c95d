// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests that memory and streams of the emulator behave as badly as those of a device may.

#include "kernels/cuda/simt_run.hpp"

namespace sparsecoll::cuda_test {
namespace {

// --- memory

__global__ void write_at(unsigned* to, size_t i) {
  if (threadIdx.x == 0) to[i] = 1;
}

TEST_CASE("the host cannot touch the device's memory") {
  unsigned* const device = numbers(4);
  CHECK(ending_of([=] { *static_cast<volatile unsigned*>(device) = 1; }).signal == SIGSEGV);
  CHECK(ending_of([=] {
          run(1, write_at, device, size_t{0});
          _exit(static_cast<int>(*static_cast<volatile unsigned*>(device)));
        }).signal == SIGSEGV);
  cudaFree(device);
}

TEST_CASE("writing to nobody's memory ends the program") {
  check_found(
      [] {
        unsigned* const at = numbers(100);
        run(1, write_at, at, size_t{100});
        cudaFree(at);
      },
      "past an allocation");
  check_found(
      [] {
        unsigned* const at = numbers(100);
        cudaFree(at);
        run(1, write_at, at, size_t{50});
        numbers(100);
      },
      "after it was freed");
  check_found([] { cudaFree(numbers(100) + 1); }, "what is not allocated");
}

TEST_CASE("memory is allocated apart, full of nothing useful, and joined when it is free") {
  unsigned* const a = numbers(100);
  unsigned* const b = numbers(100);
  unsigned* const c = numbers(100);
  CHECK(fetch(b, 100) == std::vector<unsigned>(100, 0xcdcdcdcdu));
  CHECK(b >= a + 100);
  CHECK(c >= b + 100);
  cudaMemset(b, 0, 400);
  CHECK(fetch(b, 100) == std::vector<unsigned>(100, 0));
  for (unsigned* const each : {a, c, b}) cudaFree(each);
  unsigned* const all = numbers(300);
  CHECK(all == a);
  CHECK(fetch(all, 300) == std::vector<unsigned>(300, 0xcdcdcdcdu));
  cudaFree(all);
  void* none = nullptr;
  CHECK(cudaMalloc(&none, size_t{1} << 40) == cudaErrorMemoryAllocation);
}

TEST_CASE("copies say where their memory is, and stay in it") {
  unsigned* const device = numbers(4);
  unsigned host[4] = {};
  CHECK(cudaMemcpy(device, host, 16, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(host, device, 16, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(host, host, 16, cudaMemcpyDeviceToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(device, host, 17, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(device + 4, host, 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemset(host, 0, 16) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(device, host, 16, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(cudaMemcpy(host, device, 16, cudaMemcpyDefault) == cudaSuccess);
  CHECK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice) == cudaSuccess);
  cudaFree(device);
}

// --- streams

struct Numbers {
  unsigned at[8];
};
__global__ void store(Numbers parameters, unsigned* to) {
  if (threadIdx.x < 8) to[threadIdx.x] = parameters.at[threadIdx.x];
}

TEST_CASE("parameters are copied at the launch, all else is read when the work runs") {
  unsigned* const device = numbers(8);
  void* pinned = nullptr;
  REQUIRE(cudaMallocHost(&pinned, 8 * sizeof(unsigned)) == cudaSuccess);
  unsigned* const host = static_cast<unsigned*>(pinned);
  CHECK(host[7] == 0xcdcdcdcdu);
  const cuda::Backend backend(nullptr);
  Numbers parameters{{1, 2, 3, 4, 5, 6, 7, 8}};
  cuda::launch(backend, 1, store, parameters, device);
  parameters = {};
  cudaMemcpyAsync(host, device, 8 * sizeof(unsigned), cudaMemcpyDeviceToHost);
  CHECK(host[7] == 0xcdcdcdcdu);
  cudaStreamSynchronize(nullptr);
  CHECK(host[0] == 1);
  CHECK(host[7] == 8);
  host[0] = 11;
  cudaMemcpyAsync(device, host, sizeof(unsigned), cudaMemcpyHostToDevice);
  host[0] = 12;  // too early: the copy may not have started
  CHECK(fetch(device, 1)[0] == 12);
  cudaFreeHost(pinned);
  cudaFree(device);
}

TEST_CASE("streams run when they are waited for, and before memory goes") {
  cudaStream_t own = nullptr, blocking = nullptr;
  cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&blocking, 0);
  unsigned* const device = numbers(3);
  cudaMemset(device, 0, 12);
  cudaMemsetAsync(device, 1, 4, own);
  cudaMemsetAsync(device + 1, 1, 4, blocking);
  CHECK(fetch(device, 3) == std::vector<unsigned>{0, 0x01010101u, 0});
  cudaStreamSynchronize(own);
  CHECK(fetch(device, 3) == std::vector<unsigned>{0x01010101u, 0x01010101u, 0});
  cudaMemsetAsync(device + 2, 2, 4, own);
  cudaDeviceSynchronize();
  CHECK(fetch(device, 3)[2] == 0x02020202u);
  cudaMemsetAsync(device, 3, 12, own);
  cudaFree(device);  // waits; otherwise the next allocation could still be written to
  unsigned* const again = numbers(3);
  CHECK(fetch(again, 3) == std::vector<unsigned>(3, 0xcdcdcdcdu));
  cudaFree(again);
  cudaStreamDestroy(blocking);
  cudaStreamDestroy(own);
}

}  // namespace
}  // namespace sparsecoll::cuda_test
