// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
//
// Queries of this process's devices, answered by CUDA.
#include "kernels/cuda/driver.hpp"
#include "kernels/cuda/runtime.hpp"
#include "kernels/device.hpp"

namespace sparsecoll {

using cuda::check;
using cuda::CurrentDevice;

int count_devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();  // clears the error: no driver, or one that is too old
  return 0;
}

std::string pci_address(int device) {
  char address[32] = "";
  if (cudaDeviceGetPCIBusId(address, sizeof address, device) == cudaSuccess) return address;
  cudaGetLastError();
  return "";
}

int current_device() {
  if (!cuda::context_exists()) return kHost;
  int device = kHost;
  check(cudaGetDevice(&device), "cudaGetDevice");
  return device;
}

int device_of(const void* memory) {
  if (!memory || !cuda::context_exists()) return kHost;
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, memory), "cudaPointerGetAttributes");
  const bool there =
      attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
  return there ? attributes.device : kHost;
}

bool is_same_in_all_threads(Stream stream) { return stream != cudaStreamPerThread; }

bool is_captured(int device, Stream stream) {
  const CurrentDevice current(device);
  cudaStreamCaptureStatus status{};
  const cudaError_t error = cudaStreamIsCapturing(stream, &status);
  if (error == cudaErrorStreamCaptureImplicit) {
    cudaGetLastError();
    fail(sparsecollInvalidUsage,
         "stream: expected one that does not wait for a stream that is captured now, got the "
         "legacy default stream");
  }
  check(error, "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace sparsecoll
