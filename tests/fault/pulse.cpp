// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "fault/pulse.hpp"

#include <algorithm>

namespace sparsecoll::fault {

namespace {

constexpr auto kBeat = std::chrono::milliseconds(10);
constexpr auto kRemembered = std::chrono::minutes(10);
constexpr double kShortest = 0.005;

double delay_between(Clock::time_point last, Clock::time_point now) {
  return std::chrono::duration<double>(now - last - kBeat).count();
}

}  // namespace

Pulse::~Pulse() {
  ends_ = true;
  thread_.join();
}

void Pulse::beat() {
  while (!ends_) {
    std::this_thread::sleep_for(kBeat);
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = Clock::now();
    const double late = delay_between(last_, now);
    if (late > kShortest) waits_.push_back({now, late});
    while (!waits_.empty() && now - waits_.front().end > kRemembered) waits_.pop_front();
    last_ = now;
  }
}

double Pulse::longest_since(Clock::time_point start) const {
  const std::lock_guard lock(mutex_);
  double longest = std::max(0.0, delay_between(last_, Clock::now()));
  for (auto each = waits_.rbegin(); each != waits_.rend() && each->end >= start; ++each)
    longest = std::max(longest, each->seconds);
  return longest;
}

}  // namespace sparsecoll::fault
