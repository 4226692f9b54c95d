// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "fault/scheduling_delays.hpp"

#include <algorithm>

namespace sparsecoll::fault {

namespace {

constexpr auto kInterval = std::chrono::milliseconds(10);
constexpr auto kHistory = std::chrono::minutes(10);
constexpr double kShortest = 0.005;

double delay_between(Clock::time_point last, Clock::time_point now) {
  return std::chrono::duration<double>(now - last - kInterval).count();
}

}  // namespace

SchedulingDelays::~SchedulingDelays() {
  ends_ = true;
  thread_.join();
}

void SchedulingDelays::measure() {
  while (!ends_) {
    std::this_thread::sleep_for(kInterval);
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = Clock::now();
    const double late = delay_between(last_, now);
    if (late > kShortest) delays_.push_back({now, late});
    while (!delays_.empty() && now - delays_.front().end > kHistory) delays_.pop_front();
    last_ = now;
  }
}

double SchedulingDelays::longest_since(Clock::time_point start) const {
  const std::lock_guard lock(mutex_);
  double longest = std::max(0.0, delay_between(last_, Clock::now()));
  for (auto each = delays_.rbegin(); each != delays_.rend() && each->end >= start; ++each)
    longest = std::max(longest, each->seconds);
  return longest;
}

}  // namespace sparsecoll::fault
