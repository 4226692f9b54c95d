// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Linked into tests that need a GPU: where there is none they say so and end with 77, which ctest
// counts as skipped.

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

namespace {

const struct NeedDevice {
  NeedDevice() {
    int devices = 0;
    const cudaError_t error = cudaGetDeviceCount(&devices);
    if (error == cudaSuccess && devices > 0) return;
    std::printf("SKIPPED: no CUDA device (%s)\n", cudaGetErrorString(error));
    std::exit(77);
  }
} need_device;

}  // namespace
