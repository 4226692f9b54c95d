// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "core/timeline.hpp"
#include "kernels/cuda/runtime.hpp"

namespace sparsecoll::cuda {

/// Records what a device does for the timeline of its communicator. A span lies between two events
/// on a stream. When both have completed, their times are computed relative to a base event whose
/// host time is known. Errors here only lose spans.
class DeviceTimeline {
 public:
  explicit DeviceTimeline(Timeline& timeline) : timeline_(timeline) {}

  struct SpanInfo {
    const char* name;
    Timeline::Fact fact;
    Timeline::Lane lane = Timeline::Lane::device;
  };
  /// A span of all work that is queued on the stream during its lifetime.
  class Scope {
   public:
    /// `timeline` may be null; then nothing is recorded.
    Scope(DeviceTimeline* timeline, const SpanInfo& info, cudaStream_t stream)
        : timeline_(timeline), stream_(stream) {
      if (timeline_) timeline_->open(info, stream_);
    }
    ~Scope() {
      if (timeline_) timeline_->close(stream_);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    DeviceTimeline* timeline_;
    cudaStream_t stream_;
  };

  Timeline& host() { return timeline_; }
  /// Starts a call and collects the completed spans of earlier ones. The device must be the current
  /// one.
  void begin();
  /// Waits for all queued spans and collects them. The device must be the current one.
  void finish();

 private:
  struct QueuedSpan {
    SpanInfo info;
    uint64_t call;
    CudaEvent* begin;
    CudaEvent* end;
  };

  void open(const SpanInfo& info, cudaStream_t stream) noexcept;
  void close(cudaStream_t stream) noexcept;
  CudaEvent* acquire_event();
  /// Adds completed spans to the timeline, in order. With `wait`, waits for all of them.
  void collect(bool wait);
  Clock::time_point time_of(const CudaEvent& event) const;
  void set_base();

  Timeline& timeline_;
  std::optional<CudaStream> base_stream_;  ///< idle, so that the base event completes at once
  std::optional<CudaEvent> base_;
  Clock::time_point base_time_;
  std::deque<CudaEvent> events_;
  std::vector<CudaEvent*> free_;
  std::optional<QueuedSpan> open_;
  std::deque<QueuedSpan> queued_;
};

}  // namespace sparsecoll::cuda
