// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

#include "core/error.hpp"

namespace sparsecoll {

using Clock = std::chrono::steady_clock;

/// The time at which a call must stop waiting.
class Deadline {
 public:
  /// Returns the deadline this many milliseconds from now. 0: none.
  static Deadline after(int milliseconds) {
    Deadline deadline;
    if (milliseconds > 0) deadline.at_ = deadline.start_ + std::chrono::milliseconds(milliseconds);
    return deadline;
  }
  /// Returns the deadline after this percentage of the time. It is at least a millisecond from now.
  Deadline part(int percent) const {
    Deadline part;
    if (at_ != Clock::time_point::max())
      part.at_ = std::max(start_ + (at_ - start_) / 100 * percent,
                          part.start_ + std::chrono::milliseconds(1));
    return part;
  }
  /// Returns the time at which the deadline was set.
  Clock::time_point start() const { return start_; }
  /// Returns whether more than half of the time has passed.
  bool mostly_passed() const { return Clock::now() - start_ > (at_ - start_) / 2; }
  bool passed() const { return at_ != Clock::time_point::max() && passed(Clock::now()); }
  /// Does the same, for callers that have just read the clock.
  bool passed(Clock::time_point now) const { return at_ != Clock::time_point::max() && now >= at_; }
  /// Returns the deadline or the time `pause` from now, whichever is first.
  Clock::time_point within(std::chrono::microseconds pause,
                           Clock::time_point now = Clock::now()) const {
    return std::min(at_, now + pause);
  }

 private:
  Clock::time_point start_ = Clock::now();
  Clock::time_point at_ = Clock::time_point::max();
};

/// Throws Timeout if the deadline has passed. For calls that compute and do not wait.
inline void refuse_passed(const Deadline& deadline, Clock::time_point now) {
  if (deadline.passed(now))
    fail(sparsecollTimeout, "deadline passed while this rank computed its part of the call");
}
inline void refuse_passed(const Deadline& deadline) {
  if (deadline.passed()) refuse_passed(deadline, Clock::time_point::max());
}

}  // namespace sparsecoll
