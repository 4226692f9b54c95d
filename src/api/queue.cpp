// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/queue.hpp"

#include <new>
#include <utility>

#include "core/cancellation.hpp"
#include "core/float_environment.hpp"

namespace sparsecoll {

Queue::Queue(Completions& completions, std::function<void()> deliver, Cpus cpus)
    : completions_(completions), deliver_(std::move(deliver)), cpus_(std::move(cpus)) {
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
    const uint64_t number = completions_.issued() + (collective ? 1 : 0);
    tasks_.push_back({number, collective, std::move(operation), std::move(run)});
    completions_.issue(number);
  }
  changed_.notify_all();
}

void Queue::wake() {
  { const std::lock_guard lock(mutex_); }  // the thread has looked, or it waits and hears
  changed_.notify_all();
}

bool Queue::idle() const {
  const std::lock_guard lock(mutex_);
  return tasks_.empty();
}

void Queue::wait_idle() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return nothing_to_do(); });
}

bool Queue::wait_idle(std::chrono::steady_clock::time_point limit) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, limit, [this] { return nothing_to_do(); });
}

bool Queue::nothing_to_do() const { return tasks_.empty() && !works_ && !completions_.has_due(); }

void Queue::run(Task& task) noexcept {
  const auto failed = [&](sparsecollResult_t code, const char* why) {
    const CallError error{task.operation.c_str(), code, why};
    if (task.collective) completions_.fail(task.number, error);
    completions_.tell_later(task.number, error);
  };
  try {
    task.run();
  } catch (const Error& error) {
    failed(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    failed(sparsecollSystemError, "out of memory");
  } catch (const std::exception& error) {
    failed(sparsecollInternalError, error.what());
  } catch (...) {
    failed(sparsecollInternalError, "an exception that is no std::exception");
  }
  task.run = nullptr;  // the task is destroyed outside of the lock
  if (task.collective) completions_.end(task.number);
}

void Queue::work() {
  // A callback may have passed the id of this thread to another thread, which may cancel it.
  const CancellationDisabled uncancelled;
  const FloatEnvironment environment;
  bind_this_thread(cpus_);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || !tasks_.empty() || completions_.has_due(); });
    if (tasks_.empty() && ends_ && completions_.close()) return;
    Task* const task = tasks_.empty() ? nullptr : &tasks_.front();  // other threads only add at the
                                                                    // end
    works_ = true;
    lock.unlock();
    if (task) run(*task);
    deliver_();
    lock.lock();
    works_ = false;
    if (task) tasks_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace sparsecoll
