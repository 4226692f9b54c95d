// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <semaphore>
#include <thread>

namespace sparsecoll {

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
  std::binary_semaphore go_{0};
  std::binary_semaphore back_{0};
  bool ended_ = false;
  std::exception_ptr thrown_;
  std::thread thread_;
};

}  // namespace sparsecoll
