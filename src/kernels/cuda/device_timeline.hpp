// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "core/timeline.hpp"
#include "kernels/cuda/streams.hpp"

namespace sparsecoll::cuda {

/// What a device does when, for the timeline of its communicator: spans between two events on a
/// stream, whose times are found when they have passed, against an event at a known time of the
/// host. What goes wrong here costs spans, no more.
class DeviceTimeline {
 public:
  explicit DeviceTimeline(Timeline& timeline) : timeline_(timeline) {}

  struct What {
    const char* name;
    Timeline::Fact fact;
    Timeline::Lane lane = Timeline::Lane::device;
  };
  /// What is queued on the stream while it lasts.
  class Span {
   public:
    /// Null: nothing is recorded.
    Span(DeviceTimeline* timeline, const What& what, cudaStream_t stream)
        : timeline_(timeline), stream_(stream) {
      if (timeline_) timeline_->open(what, stream_);
    }
    ~Span() {
      if (timeline_) timeline_->close(stream_);
    }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    DeviceTimeline* timeline_;
    cudaStream_t stream_;
  };

  Timeline& host() { return timeline_; }
  /// A call begins: takes what is known of earlier ones. The device is the current one.
  void begin();
  /// Waits for all that has been queued. The device is the current one.
  void finish();

 private:
  struct Measured {
    What what;
    uint64_t call;
    CudaEvent* begin;
    CudaEvent* end;
  };

  void open(const What& what, cudaStream_t stream) noexcept;
  void close(cudaStream_t stream) noexcept;
  CudaEvent* fresh_event();
  /// Adds those that have passed, in their order, or all.
  void take(bool wait);
  Clock::time_point time_of(const CudaEvent& event) const;
  void set_base();

  Timeline& timeline_;
  std::optional<OwnStream> beside_;  ///< where the base passes at once
  std::optional<CudaEvent> base_;
  Clock::time_point base_time_;
  std::deque<CudaEvent> events_;
  std::vector<CudaEvent*> free_;
  std::optional<Measured> open_;
  std::deque<Measured> measured_;
};

}  // namespace sparsecoll::cuda
