// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucontext.h>

#include <exception>
#include <functional>
#include <vector>

#include "core/memory.hpp"

namespace sparsecoll {

/// Where fibers run, some of which are kept for later ones. One thread at a time.
class FiberStacks {
 public:
  FiberStacks() { idle_.reserve(kKept); }
  FiberStacks(const FiberStacks&) = delete;
  FiberStacks& operator=(const FiberStacks&) = delete;

  /// Throws SystemError when there is no memory for one.
  Block take();
  void give_back(Block stack) noexcept;

 private:
  /// Fresh from the system, which gives memory for what is used of it: some 20 KiB. Below is a
  /// page that cannot be written.
  class Pages final : public Memory {
    void* obtain(size_t bytes) override;
    void give_up(void* at) noexcept override;
  };

  static constexpr size_t kStack = size_t{1} << 20;
  static constexpr size_t kKept = 256;

  Pages pages_;
  std::vector<Block> idle_;
};

/// Work that runs until it hands back, and goes on from there later, on a stack of its own in the
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

  /// Owner: lets the body run until it yields or ends. Throws what the body threw, or SystemError
  /// when there is no stack for it.
  void resume();
  /// Body: hands back to the owner.
  void yield();

  bool started() const { return stack_.data() != nullptr; }
  bool ended() const { return ended_; }

 private:
  /// What a sanitizer wants to know of changes between stacks.
  struct Watched {
    const void* stack = nullptr;
    size_t bytes = 0;
    void* state = nullptr;
  };

  void prepare();
  static void enter(unsigned high, unsigned low);
  void run() noexcept;
  void leave();

  FiberStacks& stacks_;
  const std::function<void()> body_;
  bool ended_ = false;
  std::exception_ptr thrown_;
  Block stack_;
  ucontext_t own_, owners_;
  Watched watched_, watched_owner_;
};

}  // namespace sparsecoll
