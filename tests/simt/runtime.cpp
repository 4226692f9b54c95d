// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Streams, memory and launches.

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "block.hpp"
#include "engine.hpp"
#include "heap.hpp"

struct CUstream_st {
  /// In order with the legacy default stream, whose work it shares.
  bool blocking = false;
  std::deque<std::function<void()>> work = {};
  bool captured = false;
};

/// What it stands for: null before it was recorded, else whether all of that has run, and where.
struct CUevent_st {
  std::shared_ptr<bool> done;
  CUstream_st* stream = nullptr;
};

namespace simt {
namespace {

Heap& heap() {
  static Heap one;
  return one;
}

std::mutex mutex;
std::atomic<size_t> launched{0};
std::atomic<size_t> allocated{0};
std::atomic<bool> used{false};
thread_local int current = 0;
std::map<void*, int> device_of;  // of allocations
CUstream_st legacy;
std::set<CUstream_st*> streams{&legacy};
CUstream_st& of(cudaStream_t stream) { return stream && !stream->blocking ? *stream : legacy; }

uint64_t next_seed() {
  static const char* const text = std::getenv("SIMT_SEED");
  static uint64_t seed = text ? std::strtoull(text, nullptr, 10) : 1;
  return seed++ * 0x9e3779b97f4a7c15u >> 33;
}

int running = 0;  // drains inside each other: a stream that waits for an event of another

/// Until `enough` says so, or nothing is left.
template <class Enough>
void drain(CUstream_st& stream, const Enough& enough) {
  if (stream.work.empty()) return;
  if (running++ == 0) heap().open();
  while (!stream.work.empty() && !enough()) {
    const std::function<void()> next = std::move(stream.work.front());
    stream.work.pop_front();
    next();
  }
  if (--running == 0) heap().close();
}
void drain(CUstream_st& stream) {
  drain(stream, [] { return false; });
}
void drain(const CUevent_st& event) {
  if (event.done) drain(*event.stream, [&] { return *event.done; });
}
void drain_all() {
  for (CUstream_st* const stream : streams) drain(*stream);
}

/// Whether memory is where it is said to be, and all of it allocated where it is the device's.
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
  const unsigned workers = cooperative ? grid.x : std::min(grid.x, 2u);
  std::vector<std::thread> threads;
  for (unsigned w = 1; w < workers; ++w) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

size_t launches() { return launched; }
size_t allocations() { return allocated; }
bool context_exists() { return used; }

int multiprocessors() {
  static const char* const text = std::getenv("SIMT_MULTIPROCESSORS");
  static const int number = text ? std::max(std::atoi(text), 1) : kMultiprocessors;
  return number;
}

cudaError_t launch(const cudaLaunchConfig_t& config, std::function<void()> body) {
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
  const std::lock_guard lock(mutex);
  ++launched;
  of(config.stream).work.push_back([grid, block, cooperative, body = std::move(body)] {
    run_grid(grid, block, cooperative, body);
  });
  return cudaSuccess;
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
    case cudaErrorCooperativeLaunchTooLarge:
      return "too many blocks in cooperative launch";
  }
  return "?";
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* count) {
  *count = kDevices;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= kDevices) return cudaErrorInvalidValue;
  used = true;
  current = device;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrMultiProcessorCount ? multiprocessors() : 9;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  const std::lock_guard lock(mutex);
  drain_all();
  return cudaSuccess;
}
cudaError_t cudaMalloc(void** at, size_t bytes) {
  const std::lock_guard lock(mutex);
  used = true;
  *at = heap().allocate(bytes);
  if (*at) device_of[*at] = current;
  ++allocated;
  return *at ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaFree(void* at) {
  if (!at) return cudaSuccess;
  const std::lock_guard lock(mutex);
  drain_all();
  heap().release(at);
  device_of.erase(at);
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  const std::lock_guard lock(mutex);
  *attributes = {cudaMemoryTypeUnregistered, -2};
  const auto after = device_of.upper_bound(const_cast<void*>(pointer));
  if (heap().holds(pointer, 0) && after != device_of.begin())
    *attributes = {cudaMemoryTypeDevice, std::prev(after)->second};
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** at, size_t bytes, unsigned) { return cudaMallocHost(at, bytes); }
cudaError_t cudaMallocHost(void** at, size_t bytes) {
  used = true;
  ++allocated;
  *at = std::malloc(bytes);
  if (!*at) return cudaErrorMemoryAllocation;
  std::memset(*at, 0xcd, bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* at) {
  cudaDeviceSynchronize();
  std::free(at);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  const std::lock_guard lock(mutex);
  if (!is_right(kind, to, from, bytes)) return cudaErrorInvalidValue;
  of(stream).work.push_back([=] { std::memmove(to, from, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  return error == cudaSuccess ? cudaStreamSynchronize(nullptr) : error;
}
cudaError_t cudaMemsetAsync(void* at, int value, size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  const std::lock_guard lock(mutex);
  if (!is_at(at, bytes, true)) return cudaErrorInvalidValue;
  of(stream).work.push_back([=] { std::memset(at, value, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemset(void* at, int value, size_t bytes) {
  const cudaError_t error = cudaMemsetAsync(at, value, bytes, nullptr);
  return error == cudaSuccess ? cudaStreamSynchronize(nullptr) : error;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  used = true;
  *stream = new CUstream_st{flags != cudaStreamNonBlocking};
  const std::lock_guard lock(mutex);
  streams.insert(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -1;
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const std::lock_guard lock(mutex);
  stream->captured = true;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const std::lock_guard lock(mutex);
  stream->captured = false;
  *graph = nullptr;
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const std::lock_guard lock(mutex);
  *status =
      stream && stream->captured ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  used = true;
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  event->done = std::make_shared<bool>(false);
  event->stream = &of(stream);
  event->stream->work.push_back([done = event->done] { *done = true; });
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const std::lock_guard lock(mutex);
  drain(*event);
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const std::lock_guard lock(mutex);
  if (event->done && !*event->done) of(stream).work.push_back([copy = *event] { drain(copy); });
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  cudaStreamSynchronize(stream);
  const std::lock_guard lock(mutex);
  streams.erase(stream);
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  drain(of(stream));
  return cudaSuccess;
}
