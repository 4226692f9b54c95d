// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <semaphore.h>

#include <exception>
#include <functional>
#include <thread>

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

/// Work that runs until it hands back, and goes on from there later: a thread, of which only one,
/// the fiber's or its owner's, is running at any time, so that they need no locks between them.
class Fiber {
 public:
  /// Nothing runs before the first resume().
  explicit Fiber(std::function<void()> body);
  /// A body that has begun must have ended; one that has not never will.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Owner: lets the body run until it yields or ends. Throws what the body threw, or SystemError
  /// when there is no thread for it.
  void resume();
  /// Body: hands back to the owner.
  void yield();

  bool started() const { return thread_.joinable(); }
  bool ended() const { return ended_; }

 private:
  void start();
  void run() noexcept;

  std::function<void()> body_;
  Baton go_;
  Baton back_;
  bool ended_ = false;
  std::exception_ptr thrown_;
  std::thread thread_;
};

}  // namespace sparsecoll
