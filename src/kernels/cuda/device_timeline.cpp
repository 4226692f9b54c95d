// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device_timeline.hpp"

#include <exception>
#include <utility>

namespace sparsecoll::cuda {

namespace {
/// Times are single precision, a few microseconds for so long. A new base waits for what was
/// measured against the old one.
constexpr auto kBaseLasts = std::chrono::minutes(1);
constexpr size_t kMostMeasured = 4096;
/// Between two looks at the host's clock: more, and something came between.
constexpr auto kAtOnce = std::chrono::microseconds(50);
constexpr int kTries = 5;
}  // namespace

void DeviceTimeline::begin() {
  try {
    const bool stale = !base_ || Clock::now() - base_time_ > kBaseLasts;
    take(stale);
    if (measured_.empty()) set_base();
  } catch (const std::exception&) {
    measured_.clear();
    base_.reset();
  }
}

void DeviceTimeline::finish() {
  try {
    take(true);
  } catch (const std::exception&) {
    measured_.clear();
  }
}

/// Nothing else is on that stream, so that the event passes between two looks at the host's clock.
void DeviceTimeline::set_base() {
  if (!beside_) beside_.emplace();
  if (!base_) base_.emplace(CudaEvent::Times::kept);
  for (int tries = 0; tries < kTries; ++tries) {
    const auto before = Clock::now();
    base_->record(beside_->get());
    base_->wait();
    const auto after = Clock::now();
    base_time_ = before + (after - before) / 2;
    if (after - before < kAtOnce) return;
  }
}

Clock::time_point DeviceTimeline::time_of(const CudaEvent& event) const {
  const std::chrono::duration<double, std::milli> since(event.milliseconds_since(*base_));
  return base_time_ + std::chrono::duration_cast<Clock::duration>(since);
}

void DeviceTimeline::take(bool wait) {
  while (!measured_.empty()) {
    const Measured first = measured_.front();
    if (wait)
      first.end->wait();
    else if (!first.end->passed())
      return;
    measured_.pop_front();
    timeline_.add({first.what.name,
                   first.what.lane,
                   first.call,
                   time_of(*first.begin),
                   time_of(*first.end),
                   {{first.what.fact}}});
    free_.push_back(first.begin);
    free_.push_back(first.end);
  }
}

CudaEvent* DeviceTimeline::fresh_event() {
  if (free_.empty()) return &events_.emplace_back(CudaEvent::Times::kept);
  CudaEvent* const event = free_.back();
  free_.pop_back();
  return event;
}

void DeviceTimeline::open(const What& what, cudaStream_t stream) noexcept {
  open_.reset();
  if (!base_ || measured_.size() == kMostMeasured) return;
  try {
    CudaEvent* const begin = fresh_event();
    begin->record(stream);
    open_ = Measured{what, timeline_.call(), begin, nullptr};
  } catch (const std::exception&) {
    // Who uses the stream next is told what is wrong with it.
  }
}

void DeviceTimeline::close(cudaStream_t stream) noexcept {
  if (!open_) return;
  try {
    Measured done = *std::exchange(open_, std::nullopt);
    done.end = fresh_event();
    done.end->record(stream);
    measured_.push_back(done);
  } catch (const std::exception&) {
    // As above.
  }
}

}  // namespace sparsecoll::cuda
