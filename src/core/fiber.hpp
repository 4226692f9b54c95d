// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "core/fiber_sanitizer.hpp"

namespace sparsecoll {

/// Stacks for fibers; some are kept for later ones. One thread at a time.
class FiberStacks {
 public:
  FiberStacks() { idle_.reserve(kKept); }
  FiberStacks(const FiberStacks&) = delete;
  FiberStacks& operator=(const FiberStacks&) = delete;

 private:
  friend class Fiber;
  static constexpr size_t kKept = 256;

  /// As large as a thread's usually is, for CUDA's driver may compile on it. The system gives
  /// memory for what is used: 50 KiB by what runs on the host. Below is a page that ends whoever
  /// needs more.
  class Stack {
   public:
    static constexpr size_t kBytes = size_t{8} << 20;

    /// Throws SystemError when there is no room for it.
    Stack();
    ~Stack();
    Stack(const Stack&) = delete;
    Stack& operator=(const Stack&) = delete;
    std::byte* data() const { return data_; }

   private:
    std::byte* data_;
  };

  std::unique_ptr<Stack> take();
  void give_back(std::unique_ptr<Stack> stack) noexcept;

  std::vector<std::unique_ptr<Stack>> idle_;
};

/// Work that runs until it count back, and goes on from there later, on a stack of its own in the
/// thread of whoever resumes it: to change between two threads instead takes longer than most of
/// what a fiber does. It always goes on in the thread that it began in.
class Fiber {
 public:
  /// Nothing runs before the first resume(). The stacks outlive it.
  Fiber(FiberStacks& stacks, std::function<void()> body);
  /// A body that has begun must have ended; one that has not never will.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Owner, until it has ended: lets the body run until it yields or ends. Throws what the body
  /// threw, or SystemError when there is no stack for it.
  void resume();
  /// Body: count back to the owner.
  void yield();

  bool started() const { return stack_ != nullptr; }
  bool ended() const { return ended_; }

 private:
  void prepare();
  static void enter(unsigned high, unsigned low);
  void run() noexcept;
  void leave();

  FiberStacks& stacks_;
  const std::function<void()> body_;
  bool ended_ = false;
  std::exception_ptr thrown_;
  std::unique_ptr<FiberStacks::Stack> stack_;
  // AddressSanitizer's swapcontext() reads members that the C library never writes.
  ucontext_t own_{}, owners_{};
  FiberSanitizer sanitizer_;
};

}  // namespace sparsecoll
