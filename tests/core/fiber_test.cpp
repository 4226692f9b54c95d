// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of fibers: functions that have stacks of their own and yield to their owner in one thread.

#include "core/fiber.hpp"

#include <sys/wait.h>
#include <unistd.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include <cfenv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "support/catch.hpp"

namespace sparsecoll {
namespace {

TEST_CASE("a fiber resumes after its yield, in the same thread") {
  FiberStacks stacks;
  std::string order;
  const auto thread = std::this_thread::get_id();
  bool elsewhere = false;
  Fiber* self = nullptr;
  Fiber fiber(stacks, [&] {
    for (const char* step : {"a", "b", "c"}) {
      order += step;
      elsewhere = elsewhere || std::this_thread::get_id() != thread;
      self->yield();
    }
    order += "d";
  });
  self = &fiber;
  CHECK_FALSE(fiber.started());
  while (!fiber.ended()) {
    fiber.resume();
    order += ".";
  }
  CHECK(order == "a.b.c.d.");
  CHECK_FALSE(elsewhere);
}

TEST_CASE("a fiber that was never resumed does nothing") {
  FiberStacks stacks;
  bool ran = false;
  {
    const Fiber fiber(stacks, [&] { ran = true; });
  }
  CHECK_FALSE(ran);
}

TEST_CASE("resume() rethrows the exception of a fiber") {
  FiberStacks stacks;
  Fiber* self = nullptr;
  Fiber fiber(stacks, [&] {
    self->yield();
    throw std::runtime_error("from the fiber");
  });
  self = &fiber;
  fiber.resume();
  CHECK_THROWS_WITH(fiber.resume(), "from the fiber");
  CHECK(fiber.ended());
}

/// Handlers of fiber and owner are active at the same time, and end in the order in which they
/// began.
TEST_CASE("each stack has its own exceptions") {
  FiberStacks stacks;
  Fiber* self = nullptr;
  std::string caught_again;
  Fiber fiber(stacks, [&] {
    try {
      try {
        throw std::runtime_error("the fiber's");
      } catch (const std::exception&) {
        self->yield();
        throw;
      }
    } catch (const std::exception& error) {
      caught_again = error.what();
    }
  });
  self = &fiber;
  std::string owners;
  try {
    try {
      throw std::runtime_error("the owner's");
    } catch (const std::exception&) {
      fiber.resume();
      throw;
    }
  } catch (const std::exception& error) {
    owners = error.what();
    fiber.resume();
  }
  CHECK(owners == "the owner's");
  CHECK(caught_again == "the fiber's");
  CHECK(std::current_exception() == nullptr);
}

TEST_CASE("a fiber that yields while it unwinds does not affect its owner") {
  FiberStacks stacks;
  Fiber* self = nullptr;
  int within = -1;
  struct Last {
    Fiber*& self;
    int& within;
    ~Last() {
      self->yield();
      within = std::uncaught_exceptions();
    }
  };
  Fiber fiber(stacks, [&] {
    const Last last{self, within};
    throw std::runtime_error("unwinds");
  });
  self = &fiber;
  fiber.resume();
  CHECK(std::uncaught_exceptions() == 0);
  CHECK_THROWS_WITH(fiber.resume(), "unwinds");
  CHECK(within == 1);
  CHECK(std::uncaught_exceptions() == 0);
}

/// The settings of rounding and subnormals, without the exception flags.
struct FloatWords {
  int rounding = std::fegetround();
#ifdef __SSE2__
  unsigned vectors = _mm_getcsr() & ~0x3fu;
#endif
  bool operator==(const FloatWords&) const = default;
};

void flush_to_zero() {
#ifdef __SSE2__
  _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
}

TEST_CASE(
    "a fiber starts with the floating-point environment of its owner and then keeps its own") {
  FiberStacks stacks;
  Fiber* self = nullptr;
  std::fenv_t usual;
  std::fegetenv(&usual);
  FloatWords begun, before, after, set, owners;
  Fiber fiber(stacks, [&] {
    begun = FloatWords();
    std::fesetround(FE_DOWNWARD);
    before = FloatWords();
    self->yield();
    after = FloatWords();
  });
  self = &fiber;
  std::fesetround(FE_UPWARD);
  flush_to_zero();
  set = FloatWords();
  fiber.resume();
  owners = FloatWords();
  std::fesetenv(&usual);
  fiber.resume();
  const FloatWords at_end;
  std::fesetenv(&usual);
  CHECK(begun == set);
  CHECK(owners == set);
  CHECK_FALSE(before == set);
  CHECK(after == before);
  CHECK(at_end == FloatWords());
}

/// Fills a large frame with `value`, yields, and returns how many bytes changed meanwhile.
size_t fill(volatile unsigned char* seen, Fiber& fiber, unsigned char value) {
  volatile unsigned char room[size_t{1} << 18];
  for (size_t i = 0; i < sizeof room; i += 64) room[i] = value;
  fiber.yield();
  size_t wrong = 0;
  for (size_t i = 0; i < sizeof room; i += 64) wrong += room[i] != value;
  *seen = room[0];
  return wrong;
}

TEST_CASE("hundreds of fibers share no memory, and neither do fibers that reuse their stacks") {
  constexpr size_t kFibers = 300;  // more than FiberStacks keeps
  FiberStacks stacks;
  for (int generation = 0; generation < 2; ++generation) {
    std::set<uintptr_t> here;
    std::deque<Fiber> fibers;
    size_t wrong = 0;
    for (size_t f = 0; f < kFibers; ++f)
      fibers.emplace_back(stacks, [&, f] {
        unsigned char seen = 0;
        here.insert(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
        wrong += fill(&seen, fibers[f], static_cast<unsigned char>(f));
        wrong += seen != static_cast<unsigned char>(f);
      });
    for (int round = 0; round < 2; ++round)
      for (Fiber& fiber : fibers) fiber.resume();
    for (const Fiber& fiber : fibers) CHECK(fiber.ended());
    CHECK(wrong == 0);
    CHECK(here.size() == kFibers);
  }
}

/// Recurses through 4 GiB of frames.
unsigned deeper(unsigned depth) {
  if (depth == 1u << 20) return 0;
  volatile unsigned char room[4096];
  room[depth % sizeof room] = 1;
  return deeper(depth + 1) + room[depth % sizeof room];
}

TEST_CASE("a stack overflow of a fiber ends the process") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    std::signal(SIGBUS, SIG_DFL);
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(0);
    FiberStacks stacks;
    // Without a guard page, the overflow would overwrite the stack of this fiber.
    Fiber below(stacks, [] {}), fiber(stacks, [] { deeper(0); });
    fiber.resume();
    below.resume();
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK_FALSE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

}  // namespace
}  // namespace sparsecoll
