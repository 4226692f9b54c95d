// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/queue.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "core/cancellation.hpp"
#include "core/float_environment.hpp"

namespace sparsecoll {

namespace {

/// Lets one failure stand for two. The first error counts, unless its call was complete and the
/// other was not.
void join(Queue::Failure& failure, Queue::Failure&& next) noexcept {
  if (failure.error.code() == sparsecollTruncated && next.error.code() != sparsecollTruncated) {
    failure.operation = std::move(next.operation);
    failure.error = std::move(next.error);
  }
  failure.last = next.last;
}

}  // namespace

Queue::Queue(Cpus cpus) : cpus_(std::move(cpus)) {
  failures_.reserve(1);  // so that a failure is kept even when memory is short
  thread_ = std::thread(&Queue::work, this);
}

void Queue::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Queue::push(Kind kind, std::string operation, std::function<void()> run) {
  {
    const std::lock_guard lock(mutex_);
    const bool collective = kind == Kind::collective;
    tasks_.push_back(
        {issued_ + (collective ? 1 : 0), collective, std::move(operation), std::move(run)});
    if (collective) ++issued_;
  }
  changed_.notify_all();
}

uint64_t Queue::issued() const {
  const std::lock_guard lock(mutex_);
  return issued_;
}

void Queue::begin(uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (number > issued_) issued_ = done_ = number;
}

bool Queue::idle() const {
  const std::lock_guard lock(mutex_);
  return tasks_.empty();
}

void Queue::wait_idle() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return tasks_.empty(); });
}

bool Queue::wait_idle(std::chrono::steady_clock::time_point limit) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, limit, [this] { return tasks_.empty(); });
}

void Queue::wait(uint64_t number) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_ >= number; });
}

std::optional<Queue::Failure> Queue::take_failure(uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (failures_.empty() || failures_.front().first > number) return std::nullopt;
  Failure taken = failures_.front();
  taken.last = std::min(taken.last, number);
  const bool with_later = fatal(taken.error.code());
  do {
    if (failures_.front().last > number) {
      failures_.front().first = number + 1;
      break;
    }
    failures_.erase(failures_.begin());
  } while (with_later && !failures_.empty() && failures_.front().first <= number);
  return taken;
}

void Queue::record_failure(const Task& task, sparsecollResult_t code, const char* why) noexcept {
  const std::lock_guard lock(mutex_);
  if (failures_.size() == kKeptFailures) join_failures();
  try {
    failures_.push_back({task.number, task.number, task.operation, Error(code, why)});
  } catch (const std::bad_alloc&) {
    Failure without_text{task.number, task.number, "", Error(code, "")};  // needs no memory
    if (failures_.size() == failures_.capacity())
      join(failures_.back(), std::move(without_text));
    else
      failures_.push_back(std::move(without_text));
  }
}

void Queue::join_failures() noexcept {
  const auto in_a_row = [](const Failure& later, const Failure& earlier) {
    return later.first <= earlier.last + 1;
  };
  auto later = std::adjacent_find(failures_.rbegin(), failures_.rend(), in_a_row);
  if (later == failures_.rend()) later = failures_.rbegin();
  join(later[1], std::move(*later));
  failures_.erase(later.base() - 1);
}

void Queue::work() {
  // A callback could pass the id of this thread to another thread, which then cancels it.
  const CancellationDisabled uncancelled;
  const FloatEnvironment environment;
  bind_this_thread(cpus_);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    Task& task = tasks_.front();  // the reference stays valid, because others only add at the end
    lock.unlock();
    try {
      task.run();
    } catch (const Error& error) {
      record_failure(task, error.code(), error.what());
    } catch (const std::bad_alloc&) {
      record_failure(task, sparsecollSystemError, "out of memory");
    } catch (const std::exception& error) {
      record_failure(task, sparsecollInternalError, error.what());
    } catch (...) {
      record_failure(task, sparsecollInternalError, "an exception that is no std::exception");
    }
    task.run = nullptr;  // destroys what it holds outside of the lock
    lock.lock();
    if (task.collective) done_ = task.number;
    tasks_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace sparsecoll
