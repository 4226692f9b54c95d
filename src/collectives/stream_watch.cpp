// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "collectives/stream_watch.hpp"

#include <atomic>

namespace sparsecoll {

namespace {
constexpr auto kBetweenLooks = std::chrono::milliseconds(10);
}

StreamWatch::StreamWatch(const Charge& charge)
    : charge_(charge), thread_(&StreamWatch::work, this) {}

StreamWatch::~StreamWatch() { stop(); }

void StreamWatch::stop() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void StreamWatch::begins(uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  calls_.push_back({sequence, nullptr, nullptr, false, {}});
  changed_.notify_all();
}

void StreamWatch::starts(Device& device) {
  if (device.captured()) return;
  {
    const std::lock_guard lock(mutex_);
    if (calls_.empty() || calls_.back().started) return;
    calls_.back().started = true;
  }
  const std::shared_ptr<Moment> moment = device.moment();
  const std::lock_guard lock(mutex_);
  calls_.back().start = moment;
}

void StreamWatch::ends(Device& device) noexcept {
  std::shared_ptr<Moment> moment;
  try {
    moment = device.moment();
  } catch (const std::exception& error) {
    interrupt(Error(sparsecollUnhandledCudaError, error.what()));
  }
  const std::lock_guard lock(mutex_);
  calls_.back().end = moment;
}

std::optional<Error> StreamWatch::failure() {
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

void StreamWatch::check() {
  try {
    look_at_transport();
    look_at_alarm();
  } catch (const Error& error) {
    interrupt(error);
  }
  if (const auto found = failure()) throw Error(*found);
}

void StreamWatch::interrupt(const Error& why) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = why;
  }
  charge_.transport.interrupt();
}

void StreamWatch::work() {
  for (std::unique_lock lock(mutex_); !stops_;) {
    if (calls_.empty() || failure_) {
      changed_.wait(lock);
      continue;
    }
    changed_.wait_for(lock, kBetweenLooks, [this] { return stops_; });
    lock.unlock();
    try {
      look();
    } catch (const Error& error) {
      interrupt(error);
    }
    lock.lock();
  }
}

void StreamWatch::look() {
  look_at_transport();
  look_at_alarm();
  const std::lock_guard lock(mutex_);
  // The last one may be under way yet.
  while (!calls_.empty() && calls_.front().end && charge_.device.passed(*calls_.front().end))
    calls_.pop_front();
  if (!calls_.empty()) look_at(calls_.front());
}

void StreamWatch::look_at_transport() { charge_.transport.check(); }

void StreamWatch::look_at_alarm() const {
  const Alarm& alarm = *charge_.alarm;
  const uint64_t reason =
      std::atomic_ref(const_cast<uint64_t&>(alarm.reason)).load(std::memory_order_acquire);
  if (reason == Alarm::other_call)
    fail(sparsecollRemoteError, "rank ", alarm.peer, " made another call at its number ",
         alarm.got.sequence, ", or sent it with other arguments (hash ", alarm.got.hash, ")");
  if (reason == Alarm::malformed)
    fail(sparsecollRemoteError, "a message was malformed: expected sound counts and indices");
}

void StreamWatch::look_at(Call& call) {
  if (charge_.timeout_ms == 0 || !call.start) return;
  if (!call.limit && charge_.device.passed(*call.start))
    call.limit = Clock::now() + std::chrono::milliseconds(charge_.timeout_ms);
  if (call.limit && Clock::now() >= *call.limit)
    fail(sparsecollTimeout, "call ", call.sequence,
         ": deadline passed; NCCL does not tell which ranks it waits for");
}

}  // namespace sparsecoll
