// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/error.hpp"

namespace sparsecoll {

namespace {

size_t page() {
  static const size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

/// The exceptions that are being thrown and caught. C++ keeps them for each thread, but each stack
/// needs its own. These two fields come first in the structure of the C++ ABI.
class ExceptionState {
 public:
  ExceptionState() { exchange(); }   // none
  ~ExceptionState() { exchange(); }  // those of the stack before
  ExceptionState(const ExceptionState&) = delete;
  ExceptionState& operator=(const ExceptionState&) = delete;

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

FiberStacks::Stack::Stack() {
  void* const at = mmap(nullptr, page() + kBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  int error = at == MAP_FAILED ? errno : 0;
  if (!error && mprotect(at, page(), PROT_NONE) != 0) {
    error = errno;
    munmap(at, page() + kBytes);
  }
  if (error)
    fail(sparsecollSystemError, "no stack for a call of a group, 8 MiB of address space in two ",
         "mappings (ulimit -v, vm.max_map_count): ", std::strerror(error));
  data_ = static_cast<std::byte*>(at) + page();
  // The system would clear a whole large page for the few KiB that are used. A kernel without large
  // pages returns an error here, which does not matter.
  madvise(data_, kBytes, MADV_NOHUGEPAGE);
}

FiberStacks::Stack::~Stack() { munmap(data_ - page(), page() + kBytes); }

std::unique_ptr<FiberStacks::Stack> FiberStacks::take() {
  if (idle_.empty()) return std::make_unique<Stack>();
  auto stack = std::move(idle_.back());
  idle_.pop_back();
  return stack;
}

void FiberStacks::give_back(std::unique_ptr<Stack> stack) noexcept {
  if (idle_.size() < kKept) idle_.push_back(std::move(stack));
}

Fiber::Fiber(FiberStacks& stacks, std::function<void()> body)
    : stacks_(stacks), body_(std::move(body)) {}

Fiber::~Fiber() {
  if (!started()) return;
  sanitizer_.end();
  stacks_.give_back(std::move(stack_));
}

/// The context takes over the floating-point environment of this thread.
void Fiber::prepare() {
  stack_ = stacks_.take();
  getcontext(&own_);
  own_.uc_stack.ss_sp = stack_->data();
  own_.uc_stack.ss_size = FiberStacks::Stack::kBytes;
  own_.uc_link = nullptr;
  const auto self = reinterpret_cast<uintptr_t>(this);  // a context passes only values of type int
  makecontext(&own_, reinterpret_cast<void (*)()>(&Fiber::enter), 2,
              static_cast<unsigned>(uint64_t{self} >> 32), static_cast<unsigned>(self));
  sanitizer_.begin(stack_->data(), FiberStacks::Stack::kBytes);
}

void Fiber::resume() {
  if (!started()) prepare();
  {
    const ExceptionState others;
    sanitizer_.to_fiber();
    swapcontext(&owners_, &own_);
    sanitizer_.on_owner();
  }
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void Fiber::yield() {
  const ExceptionState owners;
  leave();
}

void Fiber::leave() {
  sanitizer_.to_owner(ended_);
  swapcontext(&own_, &owners_);
  sanitizer_.on_fiber();
}

void Fiber::enter(unsigned high, unsigned low) {
  auto* const fiber = reinterpret_cast<Fiber*>(static_cast<uintptr_t>(uint64_t{high} << 32 | low));
  fiber->sanitizer_.on_fiber();
  fiber->run();
  fiber->leave();
  std::abort();  // the fiber was resumed after its end
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
