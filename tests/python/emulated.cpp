// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// The emulated CUDA for emulated.py, with names of C. All return a cudaError_t.

#include <cuda_runtime.h>

#define EMULATED extern "C" __attribute__((visibility("default")))

EMULATED int emulated_set_device(int device) { return cudaSetDevice(device); }

EMULATED int emulated_allocate(void** at, size_t bytes) { return cudaMalloc(at, bytes); }

EMULATED int emulated_to_device(void* to, const void* from, size_t bytes) {
  return cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice);
}

EMULATED int emulated_to_host(void* to, const void* from, size_t bytes) {
  return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost);
}

/// Makes a stream that does not wait for the legacy one, so that a missing order shows.
EMULATED int emulated_new_stream(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
}

EMULATED int emulated_wait(cudaStream_t stream) { return cudaStreamSynchronize(stream); }
