// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "simulated/virtual_time.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>

namespace sparsecoll::perf {

namespace {

double processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::ptrdiff_t processors() { return std::max(1u, std::thread::hardware_concurrency()); }

}  // namespace

VirtualTime::VirtualTime(int ranks, double scale)
    : states_(static_cast<std::size_t>(ranks)),
      scale_(scale),
      active_(ranks),
      processors_(processors()) {
  for (int rank = 0; rank < ranks; ++rank) waiting_.insert({0, rank});
  run_next();
}

void VirtualTime::resume(int rank) {
  if (scale_ > 0) state(rank).computed = processor_time();
}

void VirtualTime::charge(int rank) {
  if (scale_ == 0) return;  // to read the clock takes longer than the rest
  const double time = processor_time();
  state(rank).clock += scale_ * (time - state(rank).computed);
  state(rank).computed = time;
}

void VirtualTime::run_next() {
  if (waiting_.empty()) {
    if (active_ == 0) return;
    std::fputs("simulated: every rank waits for another one\n", stderr);
    std::fflush(nullptr);
    std::_Exit(1);
  }
  const auto [at, rank] = *waiting_.begin();
  waiting_.erase(waiting_.begin());
  state(rank).sleeps = false;
  state(rank).clock = std::max(state(rank).clock, at);
  state(rank).turn.give();
}

void VirtualTime::wait_to_run(int rank) {
  run_next();
  state(rank).turn.take();
  resume(rank);
}

void VirtualTime::start(int rank) {
  state(rank).turn.take();
  resume(rank);
}

void VirtualTime::finish(int rank) {
  charge(rank);
  state(rank).ended = true;
  --active_;
  if (active_ > 0 && at_barrier_ == active_) release_barrier();
  run_next();
}

double VirtualTime::now(int rank) {
  charge(rank);
  return state(rank).clock;
}

void VirtualTime::advance(int rank, double seconds) {
  charge(rank);
  state(rank).clock += seconds;
}

double VirtualTime::let_others_catch_up(int rank, double slack) {
  charge(rank);
  const double clock = state(rank).clock;
  if (!waiting_.empty() && waiting_.begin()->first + slack < clock) {
    waiting_.insert({clock, rank});
    wait_to_run(rank);
  }
  return state(rank).clock;
}

void VirtualTime::sleep(int rank, double until) {
  charge(rank);
  State& own = state(rank);
  own.until = std::max(until, own.clock);
  own.sleeps = true;
  if (until != kNever) waiting_.insert({own.until, rank});
  wait_to_run(rank);
}

void VirtualTime::wake(int rank, double at) {
  State& other = state(rank);
  if (!other.sleeps || at >= other.until) return;
  waiting_.erase({other.until, rank});
  other.until = std::max(at, other.clock);
  waiting_.insert({other.until, rank});
}

void VirtualTime::release_barrier() {
  at_barrier_ = 0;
  double latest = 0;
  for (const State& each : states_) latest = std::max(latest, each.clock);
  for (int rank = 0; rank < static_cast<int>(states_.size()); ++rank) {
    if (state(rank).ended) continue;
    state(rank).clock = latest;
    waiting_.insert({latest, rank});
  }
}

void VirtualTime::barrier(int rank) {
  charge(rank);
  if (++at_barrier_ == active_) release_barrier();
  wait_to_run(rank);
}

void VirtualTime::prepare(int rank, const std::function<void()>& work) {
  charge(rank);
  const int all = active_;
  if (++at_work_ < all) run_next();  // the other ranks come here, too
  processors_.acquire();
  work();
  processors_.release();
  if (++worked_ == all) {  // no other rank runs
    at_work_ = 0;
    worked_ = 0;
    release_barrier();
    run_next();
  }
  state(rank).turn.take();
  resume(rank);
}

}  // namespace sparsecoll::perf
