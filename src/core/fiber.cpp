// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.hpp"

#ifdef __has_feature
#define SPARSECOLL_HAS_FEATURE(name) __has_feature(name)
#else
#define SPARSECOLL_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || SPARSECOLL_HAS_FEATURE(address_sanitizer)
#define SPARSECOLL_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__) || SPARSECOLL_HAS_FEATURE(thread_sanitizer)
#define SPARSECOLL_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace sparsecoll {

namespace {

size_t page() {
  static const size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

/// The exceptions that are thrown and caught at the moment, which C++ keeps for each thread: here
/// they are each stack's own. In front of what the ABI of C++ keeps there are these two.
class Exceptions {
 public:
  Exceptions() { exchange(); }   // none
  ~Exceptions() { exchange(); }  // those of before
  Exceptions(const Exceptions&) = delete;
  Exceptions& operator=(const Exceptions&) = delete;

 private:
  struct State {
    void* caught = nullptr;
    unsigned uncaught = 0;
  };

  void exchange() {
    void* const at = abi::__cxa_get_globals();
    State now;
    std::memcpy(&now, at, sizeof now);
    std::memcpy(at, &state_, sizeof state_);
    state_ = now;
  }

  State state_;
};

}  // namespace

Block FiberStacks::take() {
  if (idle_.empty()) {
    try {
      return Block(pages_, kStack);
    } catch (const std::bad_alloc&) {
      fail(sparsecollSystemError, "no stack for a call of a group: ", std::strerror(errno));
    }
  }
  Block stack = std::move(idle_.back());
  idle_.pop_back();
  return stack;
}

void FiberStacks::give_back(Block stack) noexcept {
  if (idle_.size() < kKept) idle_.push_back(std::move(stack));
}

void* FiberStacks::Pages::obtain(size_t bytes) {
  void* const at = mmap(nullptr, page() + bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  std::byte* const stack = static_cast<std::byte*>(at) + page();
  if (mprotect(stack, bytes, PROT_READ | PROT_WRITE) == 0) return stack;
  const int error = errno;
  munmap(at, page() + bytes);
  errno = error;
  return nullptr;
}

void FiberStacks::Pages::give_up(void* at) noexcept {
  munmap(static_cast<std::byte*>(at) - page(), page() + kStack);
}

Fiber::Fiber(FiberStacks& stacks, std::function<void()> body)
    : stacks_(stacks), body_(std::move(body)) {}

Fiber::~Fiber() {
#ifdef SPARSECOLL_THREAD_SANITIZER
  if (watched_.state) __tsan_destroy_fiber(watched_.state);
#endif
  if (started()) stacks_.give_back(std::move(stack_));
}

/// The context begins with the floating-point environment of this thread.
void Fiber::prepare() {
  stack_ = stacks_.take();
  getcontext(&own_);
  own_.uc_stack.ss_sp = stack_.data();
  own_.uc_stack.ss_size = stack_.size();
  own_.uc_link = nullptr;
  const auto self = reinterpret_cast<uintptr_t>(this);  // a context takes nothing but int
  makecontext(&own_, reinterpret_cast<void (*)()>(&Fiber::enter), 2,
              static_cast<unsigned>(uint64_t{self} >> 32), static_cast<unsigned>(self));
  watched_.stack = stack_.data();
  watched_.bytes = stack_.size();
#ifdef SPARSECOLL_THREAD_SANITIZER
  watched_.state = __tsan_create_fiber(0);
#endif
}

void Fiber::resume() {
  if (!started()) prepare();
  {
    const Exceptions others;
#if defined(SPARSECOLL_ADDRESS_SANITIZER)
    __sanitizer_start_switch_fiber(&watched_owner_.state, watched_.stack, watched_.bytes);
#elif defined(SPARSECOLL_THREAD_SANITIZER)
    watched_owner_.state = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(watched_.state, 0);
#endif
    swapcontext(&owners_, &own_);
#ifdef SPARSECOLL_ADDRESS_SANITIZER
    __sanitizer_finish_switch_fiber(watched_owner_.state, nullptr, nullptr);
#endif
  }
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void Fiber::yield() {
  const Exceptions owners;
  leave();
}

/// Hands back; what the sanitizer keeps of this stack is given up at the end.
void Fiber::leave() {
#if defined(SPARSECOLL_ADDRESS_SANITIZER)
  __sanitizer_start_switch_fiber(ended_ ? nullptr : &watched_.state, watched_owner_.stack,
                                 watched_owner_.bytes);
#elif defined(SPARSECOLL_THREAD_SANITIZER)
  __tsan_switch_to_fiber(watched_owner_.state, 0);
#endif
  swapcontext(&own_, &owners_);
#ifdef SPARSECOLL_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(watched_.state, &watched_owner_.stack, &watched_owner_.bytes);
#endif
}

void Fiber::enter(unsigned high, unsigned low) {
  auto* const fiber = reinterpret_cast<Fiber*>(static_cast<uintptr_t>(uint64_t{high} << 32 | low));
#ifdef SPARSECOLL_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(nullptr, &fiber->watched_owner_.stack,
                                  &fiber->watched_owner_.bytes);
#endif
  fiber->run();
  fiber->leave();
}

void Fiber::run() noexcept {
  try {
    body_();
  } catch (...) {
    thrown_ = std::current_exception();
  }
  ended_ = true;
}

}  // namespace sparsecoll
