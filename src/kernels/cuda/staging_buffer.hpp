// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "kernels/cuda/device_timeline.hpp"

namespace sparsecoll::cuda {

/// Tracks what moves between a device and the host during one call: counts and messages that the
/// host may use before the device has finished all queued work, and messages that are copied to the
/// device before a kernel needs them.
class StagingBuffer {
 public:
  /// Records waits and copies of messages as spans from now on.
  void record_spans_in(DeviceTimeline& timeline) { timeline_ = &timeline; }
  /// Returns the timeline; null if spans are not recorded.
  DeviceTimeline* timeline() const { return timeline_; }

  /// Queues a copy of counts to page-locked `host_counts`. The host can read them when the work
  /// queued before is done, whatever is queued later.
  void copy_counts(std::span<const uint64_t> counts, uint64_t* host_counts, cudaStream_t stream);
  /// Waits for n of the copied counts and stores them in `to`. Returns false if they were not
  /// copied.
  bool read_counts(const uint64_t* counts, size_t n, uint64_t* to) const;

  /// Records that the work queued so far completes the writes to `bytes`, which the host will read.
  void record_written(ConstBytes bytes, cudaStream_t stream);
  /// Waits until the recorded range that contains `end`, or that ends there, is written. Returns at
  /// once if there is none.
  void wait_for(const std::byte* end) const;

  /// Queues a copy of host memory to `here`.
  void prefetch(ConstBytes host, std::byte* here, cudaStream_t stream);
  /// Records that a message lies in device memory and stays there.
  void keep_on_device(ConstBytes here) { device_copies_.push_back({here, here.data()}); }
  /// Returns where the device has these bytes, or null if it has no copy.
  const std::byte* device_copy_of(ConstBytes host) const;
  /// Returns whether the message at `at` was recorded by keep_on_device().
  bool is_kept_on_device(const std::byte* at) const { return at && device_copy_of({at, 1}) == at; }

  /// Forgets everything at the end of a call.
  void reset();

 private:
  struct CountsCopy {
    std::span<const uint64_t> counts;
    const uint64_t* host_counts;
    const CudaEvent* event;
  };
  struct WrittenRange {
    ConstBytes bytes;
    const CudaEvent* event;
  };
  struct DeviceCopy {
    ConstBytes host;
    const std::byte* here;
  };
  /// Returns an event for the work on the stream so far.
  const CudaEvent* event_on(cudaStream_t stream);
  void wait(const CudaEvent& event) const;

  DeviceTimeline* timeline_ = nullptr;
  std::deque<CudaEvent> events_;  ///< reused by later calls
  size_t used_ = 0;               ///< events that this call uses
  std::vector<CountsCopy> counts_copies_;
  std::vector<WrittenRange> written_ranges_;
  std::vector<DeviceCopy> device_copies_;
};

}  // namespace sparsecoll::cuda
