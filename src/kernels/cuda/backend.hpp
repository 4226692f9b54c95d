// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <mutex>
#include <optional>

#include "core/arena.hpp"
#include "core/numa_memory.hpp"
#include "kernels/cuda/staging_buffer.hpp"

namespace sparsecoll::cuda {

/// Memory of the device that is current when this is constructed.
class DeviceMemory final : public Memory {
 public:
  DeviceMemory() { check(cudaGetDevice(&device_), "cudaGetDevice"); }
  int device() const { return device_; }

 private:
  /// Throws if another device is current: the caller's work would be queued there.
  void* obtain(size_t bytes) override;
  void give_up(void* at) noexcept override;

  int device_ = 0;
};

/// Memory of a device for received messages. Any thread may use it, whatever device is current.
class ReceiveMemory final : public Memory {
 public:
  explicit ReceiveMemory(int device) : device_(device) {}
  void read(const void* at, size_t bytes, void* to) override;

 private:
  void* obtain(size_t bytes) override;
  void give_up(void* at) noexcept override;

  const int device_;
};

/// Page-locked host memory that the kernels of every device can write. It is allocated in the
/// context of one device, on the NUMA node beside it. Any thread may use it.
class PageLockedMemory final : public Memory {
 public:
  explicit PageLockedMemory(int device) : device_(device) {}

 private:
  void* obtain(size_t bytes) override;
  void give_up(void* at) noexcept override;

  const int device_;
  std::once_flag asked_;
  std::optional<NodeBeside> beside_;  ///< none before the first obtain()
};

/// The sizes from which the device's kernels work differently. Tests change them to reach rare
/// paths.
struct DeviceTuning {
  /// elements from which a vector is filtered (select/filter.cuh)
  size_t filter_from = size_t{1} << 22;
  /// elements of the sample that gives the bound; at least 16
  size_t sample_size = size_t{1} << 18;
  size_t candidate_capacity = static_cast<size_t>(-1);  ///< most candidates that the filter keeps
  uint64_t bound = 0;              ///< key that the filter uses as its bound; 0: estimate it
  size_t chunk = size_t{1} << 20;  ///< bytes of packed messages that the host waits for at a time
  /// messages of at least this size are copied to the device as soon as they arrive
  size_t prefetch_from = size_t{1} << 14;
  /// messages of at least this size stay in device memory, if they can be sent from there
  size_t hide_from = size_t{1} << 16;
};

/// One device with its stream and workspace. The device is the current one in every call. Kernels
/// queued on the stream may still use memory that has been returned to the workspace. That is safe
/// if whoever uses the memory next works on this stream or on one that waits for it.
class Backend {
 public:
  /// Borrows the stream. Null is the legacy default stream.
  explicit Backend(cudaStream_t stream, MessageLocation messages = MessageLocation::on_device);
  ~Backend();
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  cudaStream_t stream() const { return stream_; }
  /// Queues all further work on `stream`. The caller makes sure that it runs after the earlier
  /// work.
  void move_to(cudaStream_t stream) { stream_ = stream; }
  Arena& arena() { return arena_; }
  const Memory& memory() const { return memory_; }
  MessageLocation messages() const { return messages_; }
  /// Workspace for messages that the host sees.
  Arena& slabs() { return messages_ == MessageLocation::on_host ? slabs_ : arena_; }
  /// Workspace for messages that stay in device memory.
  Arena& device_slabs() { return device_slabs_; }
  unsigned multiprocessors() const { return multiprocessors_; }
  DeviceTuning& tuning() { return tuning_; }
  StagingBuffer& staging() { return staging_; }
  /// Returns the timeline; null if spans are not recorded.
  DeviceTimeline* timeline() const { return staging_.timeline(); }

  /// Copies n counts to the host. Waits for all work queued before.
  void read(const uint64_t* from, size_t n, uint64_t* to);
  /// Queues a copy between any two kinds of memory.
  void copy(const void* from, size_t bytes, void* to) const;
  /// Waits for all work queued before.
  void wait() const;

 private:
  cudaStream_t stream_;
  MessageLocation messages_;
  unsigned multiprocessors_ = 0;
  DeviceTuning tuning_;
  StagingBuffer staging_;
  DeviceMemory memory_;
  PageLockedMemory page_locked_{memory_.device()};
  // Arenas keep their blocks: cudaFree would wait for the whole device.
  Arena arena_{memory_, Arena::Blocks::kept};
  Arena slabs_{page_locked_, Arena::Blocks::kept};
  Arena device_slabs_{memory_, Arena::Blocks::kept};
  uint64_t* host_counts_ = nullptr;  ///< page-locked
};

}  // namespace sparsecoll::cuda
