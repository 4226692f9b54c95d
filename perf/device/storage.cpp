// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Vectors in device memory. This file does not use the library.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <stdexcept>

#include "device/device.hpp"

namespace sparsecoll::perf {
namespace {

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

class DeviceStorage final : public Storage {
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
  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    check(cudaMemcpyAsync(to, from, bytes, kind, stream_), "cudaMemcpyAsync");
    wait();
  }

  int device_;
  cudaStream_t stream_ = nullptr;
  std::map<const void*, std::size_t> sizes_;  ///< sizes of all allocations
  std::multimap<std::size_t, void*> idle_;    ///< free allocations, by size
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

std::unique_ptr<Storage> make_device_storage(int rank) {
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  if (devices == 0) throw std::runtime_error("no CUDA device");
  return std::make_unique<DeviceStorage>(rank % devices);
}

}  // namespace sparsecoll::perf
