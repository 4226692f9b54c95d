// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device_timeline.hpp"

#include <exception>
#include <utility>

namespace sparsecoll::cuda {

namespace {
/// Event times have single precision, which is a few microseconds after a minute. A new base is set
/// only when all spans measured against the old one are collected.
constexpr auto kBaseLasts = std::chrono::minutes(1);
constexpr size_t kMostQueued = 4096;
/// If two readings of the host's clock are further apart, the thread was interrupted in between.
constexpr auto kAtMostApart = std::chrono::microseconds(50);
constexpr int kTries = 5;
}  // namespace

void DeviceTimeline::begin() {
  try {
    const bool stale = !base_ || Clock::now() - base_time_ > kBaseLasts;
    collect(stale);
    if (queued_.empty()) set_base();
  } catch (const std::exception&) {
    queued_.clear();
    base_.reset();
  }
}

void DeviceTimeline::finish() {
  try {
    collect(true);
  } catch (const std::exception&) {
    queued_.clear();
  }
}

/// The stream has no other work, so the event completes between the two readings of the host's
/// clock.
void DeviceTimeline::set_base() {
  if (!base_stream_) base_stream_.emplace();
  if (!base_) base_.emplace(CudaEvent::Timing::enabled);
  for (int tries = 0; tries < kTries; ++tries) {
    const auto before = Clock::now();
    base_->record(base_stream_->get());
    base_->wait();
    const auto after = Clock::now();
    base_time_ = before + (after - before) / 2;
    if (after - before < kAtMostApart) return;
  }
}

Clock::time_point DeviceTimeline::time_of(const CudaEvent& event) const {
  const std::chrono::duration<double, std::milli> since(event.milliseconds_since(*base_));
  return base_time_ + std::chrono::duration_cast<Clock::duration>(since);
}

void DeviceTimeline::collect(bool wait) {
  while (!queued_.empty()) {
    const QueuedSpan first = queued_.front();
    if (wait)
      first.end->wait();
    else if (!first.end->passed())
      return;
    queued_.pop_front();
    timeline_.add({first.info.name,
                   first.info.lane,
                   first.call,
                   time_of(*first.begin),
                   time_of(*first.end),
                   {{first.info.fact}}});
    free_.push_back(first.begin);
    free_.push_back(first.end);
  }
}

CudaEvent* DeviceTimeline::acquire_event() {
  if (free_.empty()) return &events_.emplace_back(CudaEvent::Timing::enabled);
  CudaEvent* const event = free_.back();
  free_.pop_back();
  return event;
}

void DeviceTimeline::open(const SpanInfo& info, cudaStream_t stream) noexcept {
  open_.reset();
  if (!base_ || queued_.size() == kMostQueued) return;
  try {
    CudaEvent* const begin = acquire_event();
    begin->record(stream);
    open_ = QueuedSpan{info, timeline_.call(), begin, nullptr};
  } catch (const std::exception&) {
    // The next user of the stream reports the error.
  }
}

void DeviceTimeline::close(cudaStream_t stream) noexcept {
  if (!open_) return;
  try {
    QueuedSpan done = *std::exchange(open_, std::nullopt);
    done.end = acquire_event();
    done.end->record(stream);
    queued_.push_back(done);
  } catch (const std::exception&) {
    // The next user of the stream reports the error.
  }
}

}  // namespace sparsecoll::cuda
