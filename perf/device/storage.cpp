// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Vectors in device memory. This file does not use the library.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <stdexcept>

#include "device/device.hpp"

namespace sparsecoll::perf {
namespace {

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

class DeviceStorage : public Storage {
 public:
  explicit DeviceStorage(int device) : device_(device) {
    check(cudaSetDevice(device), "cudaSetDevice");
    // On a non-blocking stream a rank does not wait for the streams of other ranks.
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  ~DeviceStorage() override {
    for (const auto& [bytes, at] : idle_) cudaFree(at);
    cudaStreamDestroy(stream_);
  }
  DeviceStorage(const DeviceStorage&) = delete;
  DeviceStorage& operator=(const DeviceStorage&) = delete;

  int device() const override { return device_; }
  sparsecollStream_t stream() const override { return stream_; }
  std::string gpu() const override {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device_), "cudaGetDeviceProperties");
    return properties.name;
  }

  void* allocate(std::size_t bytes) override {
    bytes = std::max<std::size_t>(bytes, 1);
    void* const at = find(bytes);
    check(cudaMemsetAsync(at, 0, bytes, stream_), "cudaMemsetAsync");
    return at;
  }
  // Keeps the memory for later allocations. cudaFree() waits for all streams of the device, and
  // over NCCL another rank's stream may wait for this rank. So only ~DeviceStorage() calls it.
  void free(void* at) noexcept override {
    const auto found = sizes_.find(at);
    if (found != sizes_.end()) idle_.emplace(found->second, at);
  }
  void write(void* to, const void* from, std::size_t bytes) override {
    if (bytes > 0) copy(to, from, bytes, cudaMemcpyHostToDevice);
  }
  const void* read(const void* from, std::size_t bytes, std::vector<std::byte>& buffer) override {
    buffer.resize(bytes);
    if (bytes > 0) copy(buffer.data(), from, bytes, cudaMemcpyDeviceToHost);
    return buffer.data();
  }
  std::function<void()> capture(const std::function<void()>& work) override {
    // Other ranks may be threads of this process that allocate memory during the capture.
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
          "cudaStreamBeginCapture");
    cudaGraph_t captured = nullptr;
    try {
      work();
    } catch (...) {
      cudaStreamEndCapture(stream_, &captured);
      cudaGraphDestroy(captured);
      throw;
    }
    check(cudaStreamEndCapture(stream_, &captured), "cudaStreamEndCapture");
    const std::shared_ptr<CUgraph_st> graph(captured, cudaGraphDestroy);
    cudaGraphExec_t instance = nullptr;
    check(cudaGraphInstantiate(&instance, captured, 0), "cudaGraphInstantiate");
    const std::shared_ptr<CUgraphExec_st> executable(instance, cudaGraphExecDestroy);
    return [this, executable] {
      check(cudaGraphLaunch(executable.get(), stream_), "cudaGraphLaunch");
    };
  }
  void wait() override { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 protected:
  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    check(cudaMemcpyAsync(to, from, bytes, kind, stream_), "cudaMemcpyAsync");
    wait();
  }

 private:
  void* find(std::size_t bytes) {
    if (const auto found = idle_.lower_bound(bytes); found != idle_.end()) {
      void* const at = found->second;
      idle_.erase(found);
      return at;
    }
    void* at = nullptr;
    check(cudaMalloc(&at, bytes), "cudaMalloc");
    sizes_.emplace(at, bytes);
    return at;
  }

  int device_;
  cudaStream_t stream_ = nullptr;
  std::map<const void*, std::size_t> sizes_;  ///< sizes of all allocations
  std::multimap<std::size_t, void*> idle_;    ///< free allocations, by size
};

/// Vectors on the device with copies in page-locked memory of the host.
class CopiedStorage final : public DeviceStorage {
 public:
  explicit CopiedStorage(int device) : DeviceStorage(device), number_(device) {}
  ~CopiedStorage() override {
    for (const auto& [at, vector] : vectors_) cudaFreeHost(at);
  }

  int device() const override { return SPARSECOLL_DEVICE_HOST; }
  int gpu_number() const override { return number_; }
  sparsecollStream_t stream() const override { return nullptr; }

  void* allocate(std::size_t bytes) override {
    void* at = nullptr;
    check(cudaMallocHost(&at, std::max<std::size_t>(bytes, 1)), "cudaMallocHost");
    std::memset(at, 0, bytes);
    vectors_[static_cast<std::byte*>(at)] = DeviceStorage::allocate(bytes);
    return at;
  }
  void free(void* at) noexcept override {
    const auto found = vectors_.find(static_cast<std::byte*>(at));
    if (found == vectors_.end()) return;
    DeviceStorage::free(found->second);
    cudaFreeHost(at);
    vectors_.erase(found);
  }
  /// Writes the vector alone, so that results are right only if calls copy it.
  void write(void* to, const void* from, std::size_t bytes) override {
    if (bytes > 0) copy(vector_of(to), from, bytes, cudaMemcpyHostToDevice);
  }
  const void* read(const void* from, std::size_t bytes, std::vector<std::byte>& buffer) override {
    return DeviceStorage::read(vector_of(from), bytes, buffer);
  }
  void copy_to_host(const void* at, std::size_t bytes) override {
    copy(const_cast<void*>(at), vector_of(at), bytes, cudaMemcpyDeviceToHost);
  }
  void copy_to_device(const void* at, std::size_t bytes) override {
    copy(vector_of(at), at, bytes, cudaMemcpyHostToDevice);
  }

 private:
  /// Returns the device's address of a place in a copy.
  void* vector_of(const void* at) const {
    const auto* const place = static_cast<const std::byte*>(at);
    const auto behind = vectors_.upper_bound(const_cast<std::byte*>(place));
    const auto& [copy, vector] = *std::prev(behind);
    return static_cast<std::byte*>(vector) + (place - copy);
  }

  int number_;
  std::map<std::byte*, void*>
      vectors_;  ///< vectors on the device, by the addresses of their copies
};

/// Returns the reason why there is no device. CUDA calls a driver insufficient even if there is
/// none.
std::string why_no_device(cudaError_t error) {
  int driver = 0, runtime = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return "no NVIDIA driver here";
  if (error == cudaSuccess || error == cudaErrorNoDevice) return "the driver reports no device";
  if (error == cudaErrorInsufficientDriver && cudaRuntimeGetVersion(&runtime) == cudaSuccess)
    return "driver for CUDA " + cuda_version(driver) + ", needs " + cuda_version(runtime);
  return cudaGetErrorString(error);
}

}  // namespace

std::string cuda_version(int number) {
  return std::to_string(number / 1000) + '.' + std::to_string(number % 1000 / 10);
}

bool find_device(const std::string& program) {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error == cudaSuccess && devices > 0) return true;
  std::fprintf(stderr, "%s: --memory device: no CUDA device (%s)\n", program.c_str(),
               why_no_device(error).c_str());
  return false;
}

namespace {

int device_of(int rank) {
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  if (devices == 0) throw std::runtime_error("no CUDA device");
  return rank % devices;
}

}  // namespace

std::unique_ptr<Storage> make_device_storage(int rank) {
  return std::make_unique<DeviceStorage>(device_of(rank));
}

std::unique_ptr<Storage> make_copied_storage(int rank) {
  return std::make_unique<CopiedStorage>(device_of(rank));
}

}  // namespace sparsecoll::perf
