// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/thread_pool.hpp"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "core/float_environment.hpp"
#include "core/signals_blocked.hpp"

namespace sparsecoll {

/// The threads besides the caller, and the loop that they run now.
struct ThreadPool::Workers {
  Workers(size_t count, const ThreadPlacement& placement) {
    const SignalsBlocked blocked;
    const Cpus cpus = placement.for_loop();
    threads.reserve(count);
    for (size_t i = 1; i <= count; ++i) {
      pthread_t thread;
      if (pthread_create(&thread, nullptr, &Workers::work, this) != 0) break;
      threads.push_back(thread);
      if (cpus.empty()) continue;
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpus[i % cpus.size()], &one);
      pthread_setaffinity_np(thread, sizeof one, &one);  // if this fails, the thread is only slower
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      ends = true;
    }
    begun.notify_all();
    for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  }

  static void* work(void* workers) {
    const FloatEnvironment environment;
    static_cast<Workers*>(workers)->wait_for_loops();
    return nullptr;
  }

  void wait_for_loops() {
    std::unique_lock lock(mutex);
    for (;;) {
      begun.wait(lock, [this] { return ends || next < tasks; });
      if (ends) return;
      share(lock);
    }
  }

  /// Takes tasks as long as there are any. Releases the lock while it works.
  void share(std::unique_lock<std::mutex>& lock) {
    while (next < tasks) {
      const size_t mine = next++;
      lock.unlock();
      (*task)(mine);
      lock.lock();
      if (--unfinished == 0) finished.notify_all();
    }
  }

  const pid_t process = getpid();
  std::vector<pthread_t> threads;
  std::mutex mutex;
  std::condition_variable begun;
  std::condition_variable finished;
  const FunctionRef<void(size_t)>* task = nullptr;
  size_t tasks = 0;
  size_t next = 0;
  size_t unfinished = 0;
  bool ends = false;
};

ThreadPool::ThreadPool(size_t threads, const ThreadPlacement& placement)
    : threads_(std::max<size_t>(threads, 1)), placement_(placement) {}

ThreadPool::~ThreadPool() {
  if (!workers_) return;
  if (workers_->process == getpid())
    workers_->stop();
  else
    static_cast<void>(
        workers_.release());  // the threads and their locks belong to the parent process
}

void ThreadPool::run(size_t tasks, FunctionRef<void(size_t)> task) {
  if (threads_ > 1 && tasks > 1 && !workers_)
    workers_ = std::make_unique<Workers>(threads_ - 1, placement_);
  if (!workers_ || tasks <= 1 || workers_->threads.empty() || workers_->process != getpid()) {
    for (size_t i = 0; i < tasks; ++i) task(i);
    return;
  }
  std::unique_lock lock(workers_->mutex);
  workers_->task = &task;
  workers_->next = 0;
  workers_->tasks = workers_->unfinished = tasks;
  workers_->begun.notify_all();
  workers_->share(lock);
  workers_->finished.wait(lock, [this] { return workers_->unfinished == 0; });
}

}  // namespace sparsecoll
