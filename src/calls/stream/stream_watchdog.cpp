// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/stream/stream_watchdog.hpp"

#include <atomic>
#include <new>

#include "calls/call.hpp"

namespace sparsecoll {

namespace {
constexpr auto kBetweenLooks = std::chrono::milliseconds(10);
}

StreamWatchdog::StreamWatchdog(const Watched& charge)
    : charge_(charge), thread_(&StreamWatchdog::work, this) {}

StreamWatchdog::~StreamWatchdog() { stop(); }

void StreamWatchdog::stop() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void StreamWatchdog::begins(uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  calls_.push_back({sequence, nullptr, nullptr, nullptr, false, {}});
  changed_.notify_all();
}

void StreamWatchdog::starts(Device& device) {
  if (device.captured()) return;
  {
    const std::lock_guard lock(mutex_);
    if (calls_.empty() || calls_.back().started) return;
    calls_.back().started = true;
  }
  const std::shared_ptr<Event> event = device.event();
  const std::lock_guard lock(mutex_);
  calls_.back().start = event;
}

void StreamWatchdog::ends(Device& device) noexcept {
  std::shared_ptr<Event> event;
  try {
    event = device.event();
  } catch (const std::exception& error) {
    interrupt_with(error);
  }
  const std::lock_guard lock(mutex_);
  calls_.back().end = event;
}

void StreamWatchdog::goes_on_beside(const std::shared_ptr<Event>& end) {
  const std::lock_guard lock(mutex_);
  calls_.back().beside = end;
}

std::optional<Error> StreamWatchdog::failure() {
  const auto known = [this] {
    const std::lock_guard lock(mutex_);
    return failure_;
  };
  if (const auto found = known()) return found;
  try {
    look_at_alarm();  // work that has been waited for may have raised it just now
  } catch (const Error& error) {
    interrupt(error);
  }
  return known();
}

void StreamWatchdog::check() {
  try {
    look_at_transport();
    look_at_alarm();
  } catch (const Error& error) {
    interrupt(error);
  }
  if (const auto found = failure()) throw Error(*found);
}

void StreamWatchdog::interrupt(const Error& why) noexcept {
  {
    const std::lock_guard lock(mutex_);
    try {
      if (!failure_) failure_ = why;
    } catch (const std::bad_alloc&) {
      failure_.emplace(why.code(), "failed");  // short enough to need no memory
    }
  }
  charge_.transport.interrupt();
}

void StreamWatchdog::interrupt_with(const std::exception& why) noexcept {
  if (const auto* const error = dynamic_cast<const Error*>(&why)) return interrupt(*error);
  interrupt(Error(sparsecollSystemError, "no memory"));  // likewise
}

void StreamWatchdog::work() {
  for (std::unique_lock lock(mutex_); !stops_;) {
    if (calls_.empty() || failure_) {
      changed_.wait(lock);
      continue;
    }
    changed_.wait_for(lock, kBetweenLooks, [this] { return stops_; });
    lock.unlock();
    try {
      look();
    } catch (const std::exception& error) {
      interrupt_with(error);
    }
    lock.lock();
  }
}

void StreamWatchdog::look() {
  look_at_transport();
  look_at_alarm();
  // CUDA may keep whoever asks it waiting, and others need the lock to interrupt what it waits for.
  while (const std::optional<Call> call = first()) {
    if (!is_done(*call)) return look_at(*call);
    const std::lock_guard lock(mutex_);
    calls_.pop_front();
  }
}

std::optional<StreamWatchdog::Call> StreamWatchdog::first() const {
  const std::lock_guard lock(mutex_);
  return calls_.empty() ? std::nullopt : std::optional(calls_.front());
}

/// The last one may be under way yet.
bool StreamWatchdog::is_done(const Call& call) const {
  return call.end && charge_.device.passed(*call.end) &&
         (!call.beside || charge_.device.passed(*call.beside));
}

void StreamWatchdog::look_at_transport() { charge_.transport.check(); }

void StreamWatchdog::look_at_alarm() const {
  const Alarm& alarm = *charge_.alarm;
  const uint64_t reason =
      std::atomic_ref(const_cast<uint64_t&>(alarm.reason)).load(std::memory_order_acquire);
  if (reason == Alarm::other_call)
    fail(sparsecollRemoteError, "rank ", alarm.peer, " made another call at its number ",
         alarm.got.sequence, ", or sent it with other arguments (hash ", alarm.got.hash, ")");
  expect_sound(reason == Alarm::malformed ? 1 : 0);
}

void StreamWatchdog::look_at(const Call& call) {
  if (charge_.timeout_ms == 0 || !call.start) return;
  if (!call.limit && charge_.device.passed(*call.start)) {
    const std::lock_guard lock(mutex_);
    calls_.front().limit = Clock::now() + std::chrono::milliseconds(charge_.timeout_ms);
  }
  if (call.limit && Clock::now() >= *call.limit)
    fail(sparsecollTimeout, "call ", call.sequence,
         ": deadline passed; NCCL does not tell which ranks it waits for");
}

}  // namespace sparsecoll
