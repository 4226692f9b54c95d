// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "kernels/cuda/device_timeline.hpp"

namespace sparsecoll::cuda {

/// Between a place and a host that sees its messages, for one call at a time: what the host may
/// have before the place is done with all that is queued, and what comes to the place before it is
/// asked for.
class StagingBuffer {
 public:
  /// From now on waits and copies of messages are recorded there.
  void record_in(DeviceTimeline& timeline) { timeline_ = &timeline; }
  /// Null: nothing is recorded.
  DeviceTimeline* timeline() const { return timeline_; }

  /// Copies counts to the host, which can have them when what is queued before has run, whatever is
  /// queued later. `landing`: room for them, page-locked.
  void bring(std::span<const uint64_t> counts, uint64_t* landing, cudaStream_t stream);
  /// Waits for n of these and copies them; false if they were not brought.
  bool take(const uint64_t* counts, size_t n, uint64_t* to) const;

  /// What is queued now is the last that writes to these bytes of the host's.
  void wrote(ConstBytes bytes, cudaStream_t stream);
  /// Until all bytes before `end` are written of those that it lies in or at the end of.
  void wait_for(const std::byte* end) const;

  /// These bytes of the host's are copied to `here`.
  void fetch(ConstBytes host, std::byte* here, cudaStream_t stream);
  /// These are the place's own, and stay where they are.
  void leave(ConstBytes here) { fetched_.push_back({here, here.data()}); }
  /// Where they are then; null if they were not fetched.
  const std::byte* fetched(ConstBytes host) const;
  /// Whether they were left.
  bool is_here(const std::byte* at) const { return at && fetched({at, 1}) == at; }

  /// At the end of the call.
  void forget();

 private:
  struct Brought {
    std::span<const uint64_t> counts;
    const uint64_t* landing;
    const CudaEvent* there;
  };
  struct Wrote {
    ConstBytes bytes;
    const CudaEvent* there;
  };
  struct Fetched {
    ConstBytes host;
    const std::byte* here;
  };
  /// What is on the stream now.
  const CudaEvent* event_on(cudaStream_t stream);
  void wait(const CudaEvent& event) const;

  DeviceTimeline* timeline_ = nullptr;
  std::deque<CudaEvent> events_;  ///< kept for later calls
  size_t used_ = 0;               ///< of them, by this call
  std::vector<Brought> brought_;
  std::vector<Wrote> wrote_;
  std::vector<Fetched> fetched_;
};

}  // namespace sparsecoll::cuda
