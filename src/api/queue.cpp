// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/queue.hpp"

#include <algorithm>
#include <new>

#include "core/float_environment.hpp"

namespace sparsecoll {

namespace {
constexpr size_t kKeptFailures = 1000;  // of a program that never asks for them
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
  const auto end = std::find_if(failures_.begin(), failures_.end(),
                                [&](const Failure& each) { return each.number > number; });
  if (end == failures_.begin()) return std::nullopt;
  Failure first = std::move(failures_.front());
  failures_.erase(failures_.begin(), fatal(first.error.code()) ? end : failures_.begin() + 1);
  return first;
}

void Queue::record_failure(const Task& task, sparsecollResult_t code, const char* why) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    if (failures_.size() < kKeptFailures)
      failures_.push_back({task.number, task.operation, Error(code, why)});
  } catch (const std::bad_alloc&) {
    // There is no memory for the message. An error that was found this way is fatal anyway.
  }
}

void Queue::work() {
  const FloatEnvironment environment;
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
    }
    task.run = nullptr;  // destroys what it holds outside of the lock
    lock.lock();
    if (task.collective) done_ = task.number;
    tasks_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace sparsecoll
