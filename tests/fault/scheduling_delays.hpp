// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <thread>

#include "core/deadline.hpp"

namespace sparsecoll::fault {

/// Measures how long the operating system delays threads that are ready to run. Tests add these
/// delays to the time that a call may take.
class SchedulingDelays {
 public:
  SchedulingDelays() : thread_(&SchedulingDelays::measure, this) {}
  ~SchedulingDelays();
  SchedulingDelays(const SchedulingDelays&) = delete;
  SchedulingDelays& operator=(const SchedulingDelays&) = delete;

  /// Returns the longest delay, in seconds, that ended after `start` or has not ended.
  double longest_since(Clock::time_point start) const;

 private:
  struct Delay {
    Clock::time_point end;
    double seconds;
  };

  void measure();

  mutable std::mutex mutex_;
  std::deque<Delay> delays_;  ///< delays above 5 ms of the last 10 minutes
  Clock::time_point last_ = Clock::now();
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace sparsecoll::fault
