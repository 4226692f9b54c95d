// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Linked into tests that need a GPU. Without one they say so and exit with status 77, which ctest
// counts as skipped.

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

std::string version(int number) {
  return std::to_string(number / 1000) + '.' + std::to_string(number % 1000 / 10);
}

/// CUDA reports a missing driver as an insufficient one.
std::string reason(cudaError_t error) {
  int driver = 0, runtime = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return "no NVIDIA driver here";
  if (error == cudaSuccess || error == cudaErrorNoDevice) return "the driver shows none";
  if (error == cudaErrorInsufficientDriver && cudaRuntimeGetVersion(&runtime) == cudaSuccess)
    return "driver for CUDA " + version(driver) + ", needs " + version(runtime);
  return cudaGetErrorString(error);
}

const struct NeedDevice {
  NeedDevice() {
    int devices = 0;
    const cudaError_t error = cudaGetDeviceCount(&devices);
    if (error == cudaSuccess && devices > 0) return;
    std::printf("SKIPPED: no CUDA device (%s)\n", reason(error).c_str());
    std::exit(77);
  }
} need_device;

}  // namespace
