// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

namespace sparsecoll {

using Clock = std::chrono::steady_clock;

/// The moment after which a call must not wait any longer.
class Deadline {
 public:
  /// 0 = no deadline.
  static Deadline after(int milliseconds) {
    Deadline deadline;
    if (milliseconds > 0) deadline.at_ = deadline.start_ + std::chrono::milliseconds(milliseconds);
    return deadline;
  }
  /// More than half of the time is gone.
  bool mostly_passed() const { return Clock::now() - start_ > (at_ - start_) / 2; }
  bool passed() const { return at_ != Clock::time_point::max() && Clock::now() >= at_; }
  /// The deadline or `pause` from now, whichever comes first.
  Clock::time_point within(std::chrono::microseconds pause) const {
    return std::min(at_, Clock::now() + pause);
  }

 private:
  Clock::time_point start_ = Clock::now();
  Clock::time_point at_ = Clock::time_point::max();
};

}  // namespace sparsecoll
