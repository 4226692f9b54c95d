// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <thread>

#include "core/deadline.hpp"

namespace sparsecoll::fault {

/// How long this machine lets a thread wait that wants to run: what a call may be late for no fault
/// of the library's.
class Pulse {
 public:
  Pulse() : thread_(&Pulse::beat, this) {}
  ~Pulse();
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

  /// The longest wait that ended after `start`, or has not ended, in seconds.
  double longest_since(Clock::time_point start) const;

 private:
  struct Wait {
    Clock::time_point end;
    double seconds;
  };

  void beat();

  mutable std::mutex mutex_;
  std::deque<Wait> waits_;  ///< those worth mentioning of the last minutes
  Clock::time_point last_ = Clock::now();
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace sparsecoll::fault
