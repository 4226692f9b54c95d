// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Fibers: work on stacks of its own that changes with its owner's in one thread.

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

TEST_CASE("a fiber goes on where it handed back, in the same thread") {
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

TEST_CASE("what a fiber throws comes out of resume") {
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

/// Handlers of both are open at the same time, and close in the order in which they opened.
TEST_CASE("exceptions are each stack's own") {
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

TEST_CASE("a fiber that hands back while it unwinds is alone in that") {
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

/// The words that decide about rounding and subnormals, without flags of what has happened.
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

TEST_CASE("a fiber begins with its owner's floating-point environment, and keeps its own") {
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

/// Its own frame is large.
size_t fill(volatile unsigned char* seen, Fiber& fiber, unsigned char value) {
  volatile unsigned char room[size_t{1} << 18];
  for (size_t i = 0; i < sizeof room; i += 64) room[i] = value;
  fiber.yield();
  size_t wrong = 0;
  for (size_t i = 0; i < sizeof room; i += 64) wrong += room[i] != value;
  *seen = room[0];
  return wrong;
}

TEST_CASE("hundreds of fibers share nothing, nor do those that take their stacks") {
  constexpr size_t kFibers = 300;  // more than are kept
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

/// 4 GiB of frames.
unsigned deeper(unsigned depth) {
  if (depth == 1u << 20) return 0;
  volatile unsigned char room[4096];
  room[depth % sizeof room] = 1;
  return deeper(depth + 1) + room[depth % sizeof room];
}

TEST_CASE("a fiber that needs more than its stack ends the process") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    std::signal(SIGBUS, SIG_DFL);
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(0);
    FiberStacks stacks;
    // Memory that could be overwritten, were there no guard.
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
