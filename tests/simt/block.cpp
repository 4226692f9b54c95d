// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#undef _FORTIFY_SOURCE  // its longjmp refuses to switch to another stack
#include "block.hpp"

#include <sys/mman.h>
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

#include <cstdio>
#include <cstdlib>
#include <new>
#include <numeric>
#include <random>

constinit thread_local uint3 threadIdx{}, blockIdx{};
constinit thread_local dim3 blockDim, gridDim;

namespace simt {

namespace {

// Not a power of two, or the tops of all stacks would compete for a few sets of the cache.
constexpr size_t kStack = (size_t{64} << 10) + 576;
constexpr size_t kThreads = 1024;
thread_local Block* current = nullptr;

/// The context in which the first thread of a stack began. Later threads on this stack begin there
/// again, because a new context would take two system calls.
struct Beginning {
  jmp_buf at;
  bool known;
};

/// Memory for the stacks of a block of any size and, behind them, for their beginnings. It is kept
/// for the next block, because the system would have to clear fresh memory.
class Stacks {
 public:
  char* take() {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      char* const at = free_.back();
      free_.pop_back();
      return at;
    }
    void* const at = mmap(nullptr, kThreads * (kStack + sizeof(Beginning)), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    return static_cast<char*>(at);
  }
  void give_back(char* at) {
    const std::lock_guard lock(mutex_);
    free_.push_back(at);
  }

 private:
  std::mutex mutex_;
  std::vector<char*> free_;
} stacks;

Beginning& beginning_of(char* stacks, unsigned thread) {
  return reinterpret_cast<Beginning*>(stacks + kThreads * kStack)[thread];
}

// A thread sanitizer must be notified of every switch of stacks. It knows no jumps between fibers.
#if defined(__SANITIZE_THREAD__)
void* this_fiber() { return __tsan_get_current_fiber(); }
void* new_fiber() { return __tsan_create_fiber(0); }
void end_fiber(void* fiber) { __tsan_destroy_fiber(fiber); }
void announce(void* fiber) { __tsan_switch_to_fiber(fiber, 0); }
constexpr bool kBeginsAgain = false;
#else
void* this_fiber() { return nullptr; }
void* new_fiber() { return nullptr; }
void end_fiber(void*) {}
void announce(void*) {}
constexpr bool kBeginsAgain = true;
#endif

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "simt: block %u, thread %u: %s\n", blockIdx.x, threadIdx.x, what);
  std::abort();
}

}  // namespace

void check_mask(unsigned mask) {
  if (mask != 0xffffffffu) give_up("a mask that is not the whole warp");
}
const uint64_t* exchange(Operation operation, uint64_t value) {
  return current->exchange(operation, value);
}
void block_barrier() { current->wait_for_block(); }
void grid_barrier() { current->wait_for_grid(); }

void GridBarrier::wait() {
  std::unique_lock lock(mutex_);
  ++waiting_;
  check();
  if (waiting_ == blocks_) {
    waiting_ = 0;
    ++generation_;
    all_came_.notify_all();
    return;
  }
  all_came_.wait(lock, [this, own = generation_] { return generation_ != own; });
}

void GridBarrier::leave() {
  const std::lock_guard lock(mutex_);
  ++ended_;
  check();
}

void GridBarrier::check() const {
  if (waiting_ > 0 && ended_ > 0)
    give_up("blocks wait at a barrier of the grid for one that ended");
}

Block::Block(const dim3& grid, const dim3& block, GridBarrier* barrier)
    : grid_(grid),
      block_(block),
      threads_(block.x),
      barrier_(barrier),
      lanes_(block.x),
      fibers_(block.x),
      warps_((block.x + 31) / 32) {
  stacks_ = stacks.take();
  for (void*& fiber : fibers_) fiber = new_fiber();
}

Block::~Block() {
  for (void* const fiber : fibers_) end_fiber(fiber);
  stacks.give_back(stacks_);
}

void Block::run(const std::function<void()>& body, unsigned index, uint64_t seed) {
  current = this;
  scheduler_fiber_ = this_fiber();
  blockIdx = {index, 0, 0};
  blockDim = block_;
  gridDim = grid_;
  body_ = &body;
  lanes_.assign(threads_, Lane{});
  warps_.assign(warps_.size(), Warp{});
  std::vector<unsigned> order(threads_);
  std::iota(order.begin(), order.end(), 0u);
  std::minstd_rand random(static_cast<unsigned>(seed));
  for (unsigned ended = 0; ended < threads_;) {
    std::shuffle(order.begin(), order.end(), random);
    bool any = false;
    for (const unsigned thread : order) {
      if (lanes_[thread].ended || lanes_[thread].waits != Wait::none) continue;
      any = true;
      resume(thread);
      ended += lanes_[thread].ended;
    }
    if (!release() && !any && ended < threads_) stuck();
  }
}

void Block::resume(unsigned thread) {
  Lane& lane = lanes_[thread];
  running_ = thread;
  threadIdx = {thread, 0, 0};
  if (_setjmp(scheduler_) != 0) return;
  announce(fibers_[thread]);
  if (lane.begun) _longjmp(lane.at, 1);
  lane.begun = true;
  if (Beginning& beginning = beginning_of(stacks_, thread); beginning.known)
    _longjmp(beginning.at, 1);
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = stacks_ + thread * kStack;
  context.uc_stack.ss_size = kStack;
  context.uc_link = nullptr;
  makecontext(&context, &Block::enter, 0);
  setcontext(&context);
}

void Block::enter() {
  Beginning& beginning = beginning_of(current->stacks_, current->running_);
  beginning.known = kBeginsAgain;
  _setjmp(beginning.at);
  run_lane();
}

/// Not a part of enter(), which may continue in another thread of the system while it still has the
/// first thread's `current`.
[[gnu::noinline]] void Block::run_lane() {
  (*current->body_)();
  current->lanes_[current->running_].ended = true;
  announce(current->scheduler_fiber_);
  _longjmp(current->scheduler_, 1);
}

void Block::wait(Wait what) {
  Lane& lane = lanes_[running_];
  lane.waits = what;
  if (_setjmp(lane.at) != 0) return;
  announce(scheduler_fiber_);
  _longjmp(scheduler_, 1);
}

void Block::wait_for_grid() {
  if (!barrier_) give_up("a barrier of the grid in a launch that is not cooperative");
  wait(Wait::grid);
}

const uint64_t* Block::exchange(Operation operation, uint64_t value) {
  const unsigned l = running_ % 32;
  Warp& warp = warps_[running_ / 32];
  const unsigned turn = warp.exchanges[l]++ % 2;
  warp.value[turn][l] = value;
  warp.operation[l] = operation;
  const unsigned first = running_ - l, all = std::min(32u, threads_ - first);
  if (all != 32) give_up("an exchange in a warp of fewer than 32 threads");
  if (++warp.arrived < 32) {
    wait(Wait::warp);
  } else {
    warp.arrived = 0;
    for (unsigned other = 0; other < 32; ++other) {
      if (warp.operation[other] != operation) give_up("two kinds of exchange in one warp");
      lanes_[first + other].waits = Wait::none;
    }
  }
  return warp.value[turn];
}

/// Releases the lanes that wait for the block or the grid, if all of them wait. A lane that has
/// ended never waits.
bool Block::release() {
  bool some_ended = false;
  Wait common = Wait::none;
  for (const Lane& lane : lanes_) {
    some_ended |= lane.ended;
    if (lane.ended) continue;
    if (lane.waits != Wait::block && lane.waits != Wait::grid) return false;
    if (common != Wait::none && lane.waits != common) return false;
    common = lane.waits;
  }
  if (common == Wait::none) return false;
  if (some_ended) stuck();
  if (common == Wait::grid) barrier_->wait();
  for (Lane& lane : lanes_) lane.waits = Wait::none;
  return true;
}

void Block::stuck() const {
  std::fprintf(stderr, "simt: block %u is stuck:", blockIdx.x);
  const char* const names[] = {"ready", "__syncthreads", "its warp", "the grid"};
  for (unsigned thread = 0; thread < threads_; ++thread)
    std::fprintf(stderr, " %u %s;", thread,
                 lanes_[thread].ended ? "ended" : names[static_cast<int>(lanes_[thread].waits)]);
  std::fprintf(stderr, "\n");
  std::abort();
}

}  // namespace simt
