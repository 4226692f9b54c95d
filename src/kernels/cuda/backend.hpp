// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include "core/arena.hpp"
#include "kernels/cuda/staging_buffer.hpp"

namespace sparsecoll::cuda {

/// Memory of the device that is current when it is made.
class DeviceMemory final : public Memory {
 public:
  DeviceMemory() { check(cudaGetDevice(&device_), "cudaGetDevice"); }
  int device() const { return device_; }

 private:
  /// With another current device it throws: the caller's work would go there.
  void* obtain(size_t bytes) override;
  void give_up(void* at) noexcept override;

  int device_ = 0;
};

/// Memory of that device for whoever moves messages, whatever device is current. From any thread.
class LandingMemory final : public Memory {
 public:
  explicit LandingMemory(int device) : device_(device) {}
  void read(const void* at, size_t bytes, void* to) override;

 private:
  void* obtain(size_t bytes) override;
  void give_up(void* at) noexcept override;

  const int device_;
};

/// The host's, page-locked, where kernels of every device may write. From any thread: it is made in
/// the context of that device.
class PageLockedMemory final : public Memory {
 public:
  explicit PageLockedMemory(int device) : device_(device) {}

 private:
  void* obtain(size_t bytes) override;
  void give_up(void* at) noexcept override;

  const int device_;
};

/// When long vectors are staged (stage.cuh), and what tests need to see its rare ways.
struct Tuning {
  size_t staged_from = size_t{1} << 22;   ///< elements
  size_t sample = size_t{1} << 18;        ///< elements that the bound is guessed from; 16 or more
  size_t room = static_cast<size_t>(-1);  ///< most candidates that are staged
  uint64_t bound = 0;                     ///< of a key, instead of a guess; 0: guess
  size_t piece = size_t{1} << 20;         ///< bytes of messages that the host waits for at a time
  size_t fetched = size_t{1} << 14;       ///< bytes of a message that is brought here as it comes
  size_t hidden = size_t{1} << 16;  ///< bytes of a message that is sent from here if it can be
};

/// Where kernels run: a stream of the current device, which stays current for every call, the
/// workspace of what is queued there, and the way for numbers to the host. Whatever leaves the
/// workspace may still be in use by kernels that were queued before, which is right as long as all
/// of its users are on this stream, or on one that waits for it.
class Backend {
 public:
  /// Borrows the stream; null: the legacy default stream.
  explicit Backend(cudaStream_t stream, MessageLocation messages = MessageLocation::on_device);
  ~Backend();
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  cudaStream_t stream() const { return stream_; }
  /// What is queued from now on. The caller sees to it that it runs after what was queued before.
  void move_to(cudaStream_t stream) { stream_ = stream; }
  Arena& arena() { return arena_; }
  const Memory& memory() const { return memory_; }
  MessageLocation messages() const { return messages_; }
  /// Workspace for messages.
  Arena& slabs() { return messages_ == MessageLocation::on_host ? slabs_ : arena_; }
  /// The same for those that the host does not see.
  Arena& hidden_slabs() { return hidden_slabs_; }
  unsigned multiprocessors() const { return multiprocessors_; }
  Tuning& tuning() { return tuning_; }
  StagingBuffer& ferry() { return ferry_; }
  /// Null: nothing is recorded.
  DeviceTimeline* timeline() const { return ferry_.timeline(); }

  /// Copies n numbers to the host when all work before has run.
  void read(const uint64_t* from, size_t n, uint64_t* to);
  /// Between any two places, in stream order.
  void copy(const void* from, size_t bytes, void* to) const;
  /// Until all work before has run.
  void wait() const;

 private:
  cudaStream_t stream_;
  MessageLocation messages_;
  unsigned multiprocessors_ = 0;
  Tuning tuning_;
  StagingBuffer ferry_;
  DeviceMemory memory_;
  PageLockedMemory page_locked_{memory_.device()};
  // cudaFree waits for the whole device.
  Arena arena_{memory_, Arena::Blocks::kept};
  Arena slabs_{page_locked_, Arena::Blocks::kept};
  Arena hidden_slabs_{memory_, Arena::Blocks::kept};
  uint64_t* landing_ = nullptr;  ///< page-locked
};

}  // namespace sparsecoll::cuda
