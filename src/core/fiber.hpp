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

/// Stacks for fibers. Keeps some of them for later fibers. Only one thread at a time may use it.
class FiberStacks {
 public:
  FiberStacks() { idle_.reserve(kKept); }
  FiberStacks(const FiberStacks&) = delete;
  FiberStacks& operator=(const FiberStacks&) = delete;

 private:
  friend class Fiber;
  static constexpr size_t kKept = 256;

  /// A stack as large as that of a thread, because CUDA's driver may compile on it. The system
  /// provides memory only for what is used: 50 KiB for work on the host. The page below it ends a
  /// program that needs more.
  class Stack {
   public:
    static constexpr size_t kBytes = size_t{8} << 20;

    /// Throws SystemError if there is no memory for it.
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

/// A function with a stack of its own. It runs until it yields, and continues later, in the thread
/// that resumes it: always the thread in which it began. Switching between two threads instead
/// would take longer than most of what a fiber does.
class Fiber {
 public:
  /// Does not run the body before the first resume(). `stacks` outlives the fiber.
  Fiber(FiberStacks& stacks, std::function<void()> body);
  /// The body must have ended, or not begun; in that case it never runs.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Runs the body until it yields or ends. Throws what the body throws, and SystemError if there
  /// is no stack for it. The owner calls it until the body has ended.
  void resume();
  /// Switches to the owner, and returns at the next resume(). The body calls it.
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
  // Initialized, because AddressSanitizer's swapcontext() reads members that the C library never
  // writes.
  ucontext_t own_{}, owners_{};
  FiberSanitizer sanitizer_;
};

}  // namespace sparsecoll
