// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/stream/stream_watchdog.hpp"

#include <atomic>
#include <new>

#include "calls/call.hpp"

namespace sparsecoll {

namespace {
constexpr auto kPollInterval = std::chrono::milliseconds(10);
}

StreamWatchdog::StreamWatchdog(const Watched& watched)
    : watched_(watched), thread_(&StreamWatchdog::work, this) {}

StreamWatchdog::~StreamWatchdog() { stop(); }

void StreamWatchdog::stop() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void StreamWatchdog::begin_call(uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  calls_.push_back({sequence, nullptr, nullptr, nullptr, false, {}});
  changed_.notify_all();
}

void StreamWatchdog::start_exchanges(Device& device) {
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

void StreamWatchdog::end_call(Device& device) noexcept {
  std::shared_ptr<Event> event;
  try {
    event = device.event();
  } catch (const std::exception& error) {
    interrupt_with(error);
  }
  const std::lock_guard lock(mutex_);
  calls_.back().end = event;
}

void StreamWatchdog::add_concurrent_work(const std::shared_ptr<Event>& end) {
  const std::lock_guard lock(mutex_);
  calls_.back().concurrent_end = end;
}

std::optional<Error> StreamWatchdog::failure() {
  const auto known = [this] {
    const std::lock_guard lock(mutex_);
    return failure_;
  };
  if (const auto found = known()) return found;
  try {
    check_alarm();  // completed work may just have raised the alarm
  } catch (const Error& error) {
    interrupt(error);
  }
  return known();
}

void StreamWatchdog::check() {
  try {
    check_transport();
    check_alarm();
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
      failure_.emplace(why.code(), "failed");  // so short that it needs no memory
    }
  }
  watched_.transport.interrupt();
}

void StreamWatchdog::interrupt_with(const std::exception& why) noexcept {
  if (const auto* const error = dynamic_cast<const Error*>(&why)) return interrupt(*error);
  interrupt(Error(sparsecollSystemError, "no memory"));  // so short that it needs none
}

void StreamWatchdog::work() {
  for (std::unique_lock lock(mutex_); !stops_;) {
    if (calls_.empty() || failure_) {
      changed_.wait(lock);
      continue;
    }
    changed_.wait_for(lock, kPollInterval, [this] { return stops_; });
    lock.unlock();
    try {
      poll();
    } catch (const std::exception& error) {
      interrupt_with(error);
    }
    lock.lock();
  }
}

void StreamWatchdog::poll() {
  check_transport();
  check_alarm();
  advance();
  if (const std::optional<WatchedCall> call = oldest()) check_deadline(*call);
}

void StreamWatchdog::advance() {
  // The lock is not held here: a query of CUDA may wait, and other threads need the lock to
  // interrupt the transport.
  while (const std::optional<WatchedCall> call = oldest()) {
    if (!is_done(*call)) return;
    check_alarm();  // the call may have received messages of another call
    const std::lock_guard lock(mutex_);
    // After a failure the call may have ended only because of the interrupt.
    if (failure_ || calls_.empty() || calls_.front().sequence != call->sequence) return;
    ended_ = call->sequence;
    calls_.pop_front();
  }
}

uint64_t StreamWatchdog::ended() {
  // A query of CUDA would make a capture invalid.
  if (!watched_.device.captured()) {
    try {
      advance();
    } catch (const Error& error) {
      interrupt(error);
    }
  }
  const std::lock_guard lock(mutex_);
  return ended_;
}

bool StreamWatchdog::idle() {
  ended();
  return !oldest();
}

std::optional<StreamWatchdog::WatchedCall> StreamWatchdog::oldest() const {
  const std::lock_guard lock(mutex_);
  return calls_.empty() ? std::nullopt : std::optional(calls_.front());
}

bool StreamWatchdog::is_done(const WatchedCall& call) const {
  return call.end && watched_.device.passed(*call.end) &&
         (!call.concurrent_end || watched_.device.passed(*call.concurrent_end));
}

void StreamWatchdog::check_transport() { watched_.transport.check(); }

void StreamWatchdog::check_alarm() const {
  const Alarm& alarm = *watched_.alarm;
  const uint64_t reason =
      std::atomic_ref(const_cast<uint64_t&>(alarm.reason)).load(std::memory_order_acquire);
  if (reason == Alarm::other_call)
    fail(sparsecollRemoteError, "rank ", alarm.peer, " made another call at its number ",
         alarm.got.sequence, ", or sent it with other arguments (hash ", alarm.got.hash, ")");
  refuse_malformed(reason == Alarm::malformed ? 1 : 0);
}

void StreamWatchdog::check_deadline(const WatchedCall& call) {
  if (watched_.timeout_ms == 0 || !call.start) return;
  if (!call.limit && watched_.device.passed(*call.start)) {
    const std::lock_guard lock(mutex_);
    if (calls_.empty() || calls_.front().sequence != call.sequence) return;
    calls_.front().limit = Clock::now() + std::chrono::milliseconds(watched_.timeout_ms);
  }
  if (call.limit && Clock::now() >= *call.limit)
    fail(sparsecollTimeout, "call ", call.sequence,
         ": deadline passed; NCCL does not tell which ranks it waits for");
}

}  // namespace sparsecoll
