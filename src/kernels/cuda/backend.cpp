// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/backend.hpp"

#include <algorithm>

#include "kernels/cuda/runtime.hpp"
#include "kernels/device.hpp"

namespace sparsecoll::cuda {

namespace {

constexpr size_t kHostCounts = 1024;  // counts that one copy takes to the host

/// Lets this thread allocate and free memory while a stream is captured.
class RelaxedCapture {
 public:
  RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// Returns null if the device is out of memory.
void* allocate_on_current(size_t bytes) {
  void* at = nullptr;
  const RelaxedCapture relaxed;
  const cudaError_t error = cudaMalloc(&at, bytes);
  if (error != cudaErrorMemoryAllocation) check(error, "cudaMalloc");
  if (error != cudaSuccess) cudaGetLastError();  // the caller reports bad_alloc
  return at;
}

}  // namespace

void* DeviceMemory::obtain(size_t bytes) {
  int current = 0;
  check(cudaGetDevice(&current), "cudaGetDevice");
  if (current != device_)
    fail(sparsecollInvalidUsage, "the current device is ", current, ", expected ", device_);
  return allocate_on_current(bytes);
}

void DeviceMemory::give_up(void* at) noexcept {
  const RelaxedCapture relaxed;
  ignore_error(cudaFree(at));  // waits until the device no longer uses it
}

void* ReceiveMemory::obtain(size_t bytes) {
  const CurrentDevice current(device_);
  return allocate_on_current(bytes);
}

void ReceiveMemory::give_up(void* at) noexcept {
  try {
    const CurrentDevice current(device_);
    ignore_error(cudaFree(at));  // waits until the device no longer uses it
  } catch (const Error&) {
    // The device is lost, and its memory with it.
  }
}

void ReceiveMemory::read(const void* at, size_t bytes, void* to) {
  const CurrentDevice current(device_);
  const CudaStream stream;  // the legacy default stream would wait for other streams
  check(cudaMemcpyAsync(to, at, bytes, cudaMemcpyDeviceToHost, stream.get()),
        "cudaMemcpyAsync of a message");
  check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
}

void* PageLockedMemory::obtain(size_t bytes) {
  void* at = nullptr;
  const CurrentDevice current(device_);
  std::call_once(asked_, [this] { beside_.emplace(pci_address(device_)); });
  cudaError_t error = cudaSuccess;
  beside_->run([&] { error = cudaHostAlloc(&at, bytes, cudaHostAllocPortable); });
  if (error != cudaErrorMemoryAllocation) check(error, "cudaHostAlloc");
  if (error != cudaSuccess) cudaGetLastError();  // the caller reports bad_alloc
  return at;
}

void PageLockedMemory::give_up(void* at) noexcept {
  try {
    const CurrentDevice current(device_);
    ignore_error(cudaFreeHost(at));  // waits until no device uses it
  } catch (const Error&) {
    // The device is lost, and its memory with it.
  }
}

Backend::Backend(cudaStream_t stream, MessageLocation messages)
    : stream_(stream), messages_(messages) {
  int count = 0;
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, memory_.device()),
        "cudaDeviceGetAttribute");
  multiprocessors_ = static_cast<unsigned>(count);
  void* memory = nullptr;
  check(cudaMallocHost(&memory, kHostCounts * sizeof(uint64_t)), "cudaMallocHost");
  host_counts_ = static_cast<uint64_t*>(memory);
}

Backend::~Backend() {
  ignore_error(cudaStreamSynchronize(stream_));
  ignore_error(cudaFreeHost(host_counts_));
}

void Backend::copy(const void* from, size_t bytes, void* to) const {
  if (bytes > 0)
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "cudaMemcpyAsync");
}

void Backend::wait() const {
  const Timeline::Scope waiting(timeline() ? &timeline()->host() : nullptr, "wait for device");
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

void Backend::read(const uint64_t* from, size_t n, uint64_t* to) {
  if (staging_.read_counts(from, n, to)) return;
  for (size_t done = 0; done < n;) {
    const size_t part = std::min(n - done, kHostCounts);
    check(cudaMemcpyAsync(host_counts_, from + done, part * sizeof(uint64_t),
                          cudaMemcpyDeviceToHost, stream_),
          "cudaMemcpyAsync of counts");
    wait();
    std::copy_n(host_counts_, part, to + done);
    done += part;
  }
}

}  // namespace sparsecoll::cuda
