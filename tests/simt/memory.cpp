// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Memory of the device, and page-locked memory of the host.

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>

#include "machine.hpp"

using namespace simt;

namespace {

std::map<void*, int> devices;  // of allocations

/// Returns whether memory is of the given kind and, on a device, completely allocated.
bool is_at(const void* memory, size_t bytes, bool device) {
  return device ? heap().holds(memory, bytes) : !heap().owns(memory);
}
bool is_right(cudaMemcpyKind kind, const void* to, const void* from, size_t bytes) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      return is_at(to, bytes, false) && is_at(from, bytes, false);
    case cudaMemcpyHostToDevice:
      return is_at(to, bytes, true) && is_at(from, bytes, false);
    case cudaMemcpyDeviceToHost:
      return is_at(to, bytes, false) && is_at(from, bytes, true);
    case cudaMemcpyDeviceToDevice:
      return is_at(to, bytes, true) && is_at(from, bytes, true);
    case cudaMemcpyDefault:
      break;
  }
  return is_at(to, bytes, heap().owns(to)) && is_at(from, bytes, heap().owns(from));
}

/// All memory that it accesses must still exist when it runs, as in a launch of an old graph.
void check_still(bool right) {
  if (!right) stop("a copy whose memory has been freed since it was queued");
}

}  // namespace

int simt::device_of(const void* memory, size_t bytes) {
  const auto after = devices.upper_bound(const_cast<void*>(memory));
  return heap().holds(memory, bytes) && after != devices.begin() ? std::prev(after)->second : -1;
}

cudaError_t cudaMalloc(void** at, size_t bytes) {
  if (fails()) return cudaErrorMemoryAllocation;
  const Lock lock(mutex);
  if (const cudaError_t error = refuse_unsafe(); error != cudaSuccess) return error;
  used[current] = true;
  *at = heap().allocate(bytes);
  if (*at) devices[*at] = current;
  ++allocated;
  return *at ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaFree(void* at) {
  if (!at) return cudaSuccess;
  Lock lock(mutex);
  if (const cudaError_t error = refuse_unsafe(); error != cudaSuccess) return error;
  if (const int device = device_of(at, 0); device >= 0) drain_device(lock, device);
  heap().release(at);
  devices.erase(at);
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (fails()) return cudaErrorUnknown;
  used[current] = true;
  const Lock lock(mutex);
  *attributes = {cudaMemoryTypeUnregistered, -2};
  if (const int device = device_of(pointer, 0); device >= 0)
    *attributes = {cudaMemoryTypeDevice, device};
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** at, size_t bytes, unsigned) { return cudaMallocHost(at, bytes); }
cudaError_t cudaMallocHost(void** at, size_t bytes) {
  if (fails()) return cudaErrorMemoryAllocation;
  {
    const Lock lock(mutex);
    if (const cudaError_t error = refuse_unsafe(); error != cudaSuccess) return error;
  }
  used[current] = true;
  ++allocated;
  *at = std::malloc(bytes);
  if (!*at) return cudaErrorMemoryAllocation;
  std::memset(*at, 0xcd, bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* at) {
  if (!at) return cudaSuccess;
  const cudaError_t error = cudaDeviceSynchronize();
  if (error == cudaSuccess) std::free(at);
  return error;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (fails()) return cudaErrorUnknown;
  if (bytes == 0) return cudaSuccess;
  const Lock lock(mutex);
  if (!is_right(kind, to, from, bytes)) return cudaErrorInvalidValue;
  return submit(stream, task([=] {
                  check_still(is_right(kind, to, from, bytes));
                  std::memmove(to, from, bytes);
                }));
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  return error == cudaSuccess ? cudaStreamSynchronize(nullptr) : error;
}
cudaError_t cudaMemsetAsync(void* at, int value, size_t bytes, cudaStream_t stream) {
  if (fails()) return cudaErrorUnknown;
  if (bytes == 0) return cudaSuccess;
  const Lock lock(mutex);
  if (!is_at(at, bytes, true)) return cudaErrorInvalidValue;
  return submit(stream, task([=] {
                  check_still(is_at(at, bytes, true));
                  std::memset(at, value, bytes);
                }));
}
cudaError_t cudaMemset(void* at, int value, size_t bytes) {
  const cudaError_t error = cudaMemsetAsync(at, value, bytes, nullptr);
  return error == cudaSuccess ? cudaStreamSynchronize(nullptr) : error;
}
