// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/backend.hpp"

#include <algorithm>

#include "kernels/cuda/streams.hpp"

namespace sparsecoll::cuda {

namespace {

constexpr size_t kLanding = 1024;  // numbers that one copy takes to the host

/// Memory may come and go while graphs are captured, in this thread too.
class Relaxed {
 public:
  Relaxed() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~Relaxed() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// Null where there is none left.
void* allocate_on_current(size_t bytes) {
  void* at = nullptr;
  const Relaxed relaxed;
  const cudaError_t error = cudaMalloc(&at, bytes);
  if (error != cudaErrorMemoryAllocation) check(error, "cudaMalloc");
  if (error != cudaSuccess) cudaGetLastError();  // it is told as bad_alloc, not twice
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
  const Relaxed relaxed;
  forgive(cudaFree(at));  // waits for whoever still uses it
}

void* LandingMemory::obtain(size_t bytes) {
  const Current current(device_);
  return allocate_on_current(bytes);
}

void LandingMemory::give_up(void* at) noexcept {
  try {
    const Current current(device_);
    forgive(cudaFree(at));  // waits for whoever still uses it
  } catch (const Error&) {
    // A device that is lost has taken its memory along.
  }
}

void LandingMemory::read(const void* at, size_t bytes, void* to) {
  const Current current(device_);
  const OwnStream stream;  // the legacy one would wait for others
  check(cudaMemcpyAsync(to, at, bytes, cudaMemcpyDeviceToHost, stream.get()),
        "cudaMemcpyAsync of a message");
  check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
}

void* PageLockedMemory::obtain(size_t bytes) {
  void* at = nullptr;
  const Current current(device_);
  const cudaError_t error = cudaHostAlloc(&at, bytes, cudaHostAllocPortable);
  if (error != cudaErrorMemoryAllocation) check(error, "cudaHostAlloc");
  if (error != cudaSuccess) cudaGetLastError();  // it is told as bad_alloc, not twice
  return at;
}

void PageLockedMemory::give_up(void* at) noexcept {
  try {
    const Current current(device_);
    forgive(cudaFreeHost(at));  // waits for whoever still uses it
  } catch (const Error&) {
    // A device that is lost has taken its memory along.
  }
}

Backend::Backend(cudaStream_t stream, MessageLocation messages)
    : stream_(stream), messages_(messages) {
  int count = 0;
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, memory_.device()),
        "cudaDeviceGetAttribute");
  multiprocessors_ = static_cast<unsigned>(count);
  void* landing = nullptr;
  check(cudaMallocHost(&landing, kLanding * sizeof(uint64_t)), "cudaMallocHost");
  landing_ = static_cast<uint64_t*>(landing);
}

Backend::~Backend() {
  forgive(cudaStreamSynchronize(stream_));
  forgive(cudaFreeHost(landing_));
}

void Backend::copy(const void* from, size_t bytes, void* to) const {
  if (bytes > 0)
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "cudaMemcpyAsync");
}

void Backend::wait() const {
  const Timeline::Span waiting(timeline() ? &timeline()->host() : nullptr, "wait for device");
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

void Backend::read(const uint64_t* from, size_t n, uint64_t* to) {
  if (ferry_.take(from, n, to)) return;
  for (size_t done = 0; done < n;) {
    const size_t part = std::min(n - done, kLanding);
    check(cudaMemcpyAsync(landing_, from + done, part * sizeof(uint64_t), cudaMemcpyDeviceToHost,
                          stream_),
          "cudaMemcpyAsync of counts");
    wait();
    std::copy_n(landing_, part, to + done);
    done += part;
  }
}

}  // namespace sparsecoll::cuda
