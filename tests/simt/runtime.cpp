// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Launches of kernels, and the device.

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

#include "block.hpp"
#include "block_threads.hpp"
#include "engine.hpp"
#include "machine.hpp"

namespace simt {

std::mutex mutex;
std::atomic<bool> used[kDevices] = {};
std::atomic<size_t> allocated{0};
thread_local int current = 0;

namespace {

std::atomic<size_t> launched{0};
std::atomic<size_t> fail_in{0};

}  // namespace

Heap& heap() {
  static Heap one;
  return one;
}

size_t fail_at(size_t n) { return fail_in.exchange(n); }
bool fails() {
  for (size_t n = fail_in; n > 0;)
    if (fail_in.compare_exchange_weak(n, n - 1)) return n == 1;
  return false;
}

namespace {

uint64_t next_seed() {
  static const char* const text = std::getenv("SIMT_SEED");
  static uint64_t seed = text ? std::strtoull(text, nullptr, 10) : 1;
  return seed++ * 0x9e3779b97f4a7c15u >> 33;
}

void run_grid(const dim3& grid, const dim3& block, bool cooperative,
              const std::function<void()>& body) {
  const uint64_t seed = next_seed();
  std::vector<unsigned> order(grid.x);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), std::minstd_rand(static_cast<unsigned>(seed)));
  GridBarrier barrier(grid.x);
  std::atomic<size_t> next{0};
  const auto work = [&] {
    Block own(grid, block, cooperative ? &barrier : nullptr);
    for (size_t i = next++; i < order.size(); i = next++) own.run(body, order[i], seed + i);
    if (cooperative) barrier.leave();
  };
  BlockThreads::of_process().run(cooperative ? grid.x : std::min(grid.x, 2u), work);
}

}  // namespace

size_t launches() { return launched; }
size_t allocations() { return allocated; }
bool context_exists() {
  return std::any_of(std::begin(used), std::end(used),
                     [](const auto& each) { return each.load(); });
}
bool context_exists_on(int device) { return device >= 0 && device < kDevices && used[device]; }

int multiprocessors() {
  static const char* const text = std::getenv("SIMT_MULTIPROCESSORS");
  static const int number = text ? std::max(std::atoi(text), 1) : kMultiprocessors;
  return number;
}

cudaError_t launch(const cudaLaunchConfig_t& config, std::function<void()> body) {
  if (fails()) return cudaErrorUnknown;
  const dim3 grid = config.gridDim, block = config.blockDim;
  if (grid.x == 0 || grid.x > 0x7fffffffu || grid.y != 1 || grid.z != 1 || block.x == 0 ||
      block.x > 1024 || block.y != 1 || block.z != 1 || config.dynamicSmemBytes != 0)
    return cudaErrorInvalidConfiguration;
  bool cooperative = false;
  for (unsigned a = 0; a < config.numAttrs; ++a)
    cooperative |= config.attrs[a].id == cudaLaunchAttributeCooperative &&
                   config.attrs[a].val.cooperative != 0;
  if (cooperative && grid.x > static_cast<unsigned>(multiprocessors() * kResident))
    return cudaErrorCooperativeLaunchTooLarge;
  const Lock lock(mutex);
  if (find(config.stream)->device != current) return cudaErrorInvalidResourceHandle;
  const MakeWork make = task([grid, block, cooperative, body = std::move(body)] {
    run_grid(grid, block, cooperative, body);
  });
  return submit(config.stream, [make] {
    ++launched;
    return make();
  });
}

}  // namespace simt

using namespace simt;

int __syncthreads_count(int predicate) {
  __shared__ int count;
  __syncthreads();
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  count += predicate != 0;
  __syncthreads();
  return count;
}
int __syncthreads_or(int predicate) { return __syncthreads_count(predicate) != 0; }

const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaSuccess ? "cudaSuccess" : "cudaError";
}
const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorCooperativeLaunchTooLarge:
      return "too many blocks in cooperative launch";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorIllegalState:
      return "the operation cannot be performed in the present state";
    case cudaErrorNotReady:
      return "device not ready";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated:
      return "operation failed due to a previous error during capture";
    case cudaErrorStreamCaptureMerge:
      return "operation would result in a merge of separate capture sequences";
    case cudaErrorStreamCaptureUnmatched:
      return "capture was not ended in the same stream as it began";
    case cudaErrorStreamCaptureUnjoined:
      return "capturing stream has unjoined work";
    case cudaErrorStreamCaptureIsolation:
      return "dependency created on uncaptured work in another stream";
    case cudaErrorCapturedEvent:
      return "operation not permitted on an event last recorded in a capturing stream";
    case cudaErrorStreamCaptureWrongThread:
      return "attempt to terminate a thread-local capture sequence from another thread";
    case cudaErrorStreamCaptureImplicit:
      return "operation would make the legacy stream depend on a capturing blocking stream";
    case cudaErrorUnknown:
      return "a failure that was asked for";
  }
  return "?";
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = kDevices;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* address, int length, int device) {
  std::snprintf(address, static_cast<size_t>(length), "0000:%02x:00.0", 0xf0 + device);
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  if (fails()) return cudaErrorUnknown;
  *device = current;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= kDevices) return cudaErrorInvalidValue;
  used[device] = true;
  current = device;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  if (fails()) return cudaErrorUnknown;
  *value = attribute == cudaDevAttrMultiProcessorCount ? multiprocessors() : 9;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {"emulator"};
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  Lock lock(mutex);
  cudaError_t error = refuse_unsafe();
  for (const auto& stream : streams())
    if (stream->device == current && stream->capture) error = refuse_captured(*stream);
  if (error == cudaSuccess) drain_device(lock, current);
  return error;
}
