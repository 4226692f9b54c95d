// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <semaphore.h>

#include <exception>
#include <functional>
#include <memory>
#include <vector>

namespace sparsecoll {

/// What passes between two threads. Who waits for it sleeps at once: std::binary_semaphore first
/// yields the core to whoever wants it, and on a busy machine gets it back after milliseconds.
class Baton {
 public:
  Baton() { sem_init(&semaphore_, 0, 0); }
  ~Baton() { sem_destroy(&semaphore_); }
  Baton(const Baton&) = delete;
  Baton& operator=(const Baton&) = delete;

  void pass() { sem_post(&semaphore_); }
  void take() {
    while (sem_wait(&semaphore_) != 0) {  // a signal came
    }
  }

 private:
  sem_t semaphore_;
};

/// Threads for fibers, some of which are kept for later ones: to start a thread takes longer than
/// most of what a fiber does. One thread at a time.
class FiberThreads {
 public:
  FiberThreads();
  /// No fiber is left.
  ~FiberThreads();
  FiberThreads(const FiberThreads&) = delete;
  FiberThreads& operator=(const FiberThreads&) = delete;

 private:
  friend class Fiber;
  class Thread;

  /// Throws SystemError when there is none.
  std::unique_ptr<Thread> take();
  void give_back(std::unique_ptr<Thread> thread) noexcept;

  std::vector<std::unique_ptr<Thread>> idle_;
};

/// Work that runs until it hands back, and goes on from there later: on a thread, of which only
/// one, the fiber's or its owner's, is running at any time, so that they need no locks between
/// them.
class Fiber {
 public:
  /// Nothing runs before the first resume(). The threads outlive it.
  Fiber(FiberThreads& threads, std::function<void()> body);
  /// A body that has begun must have ended; one that has not never will.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Owner: lets the body run until it yields or ends. Throws what the body threw, or SystemError
  /// when there is no thread for it.
  void resume();
  /// Body: hands back to the owner.
  void yield();

  bool started() const { return thread_ != nullptr; }
  bool ended() const { return ended_; }

 private:
  void run(const std::function<void()>& body) noexcept;

  FiberThreads& threads_;
  const std::function<void()> body_;
  bool ended_ = false;
  std::exception_ptr thrown_;
  std::unique_ptr<FiberThreads::Thread> thread_;
};

}  // namespace sparsecoll
