// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "simulated/virtual_time.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace sparsecoll::perf {

namespace {

double processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

VirtualTime::VirtualTime(int ranks, double scale)
    : states_(static_cast<std::size_t>(ranks)), scale_(scale), active_(ranks) {
  for (int rank = 0; rank < ranks; ++rank) waiting_.insert({0, rank});
  run_next();
}

void VirtualTime::resume(int rank) { state(rank).computed = processor_time(); }

void VirtualTime::charge(int rank) {
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
  state(rank).may_run.release();
}

void VirtualTime::wait_to_run(int rank) {
  run_next();
  state(rank).may_run.acquire();
  resume(rank);
}

void VirtualTime::start(int rank) {
  state(rank).may_run.acquire();
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

}  // namespace sparsecoll::perf
