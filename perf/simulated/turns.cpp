// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "simulated/turns.hpp"

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

Turns::Turns(int ranks, double scale)
    : states_(static_cast<std::size_t>(ranks)), scale_(scale), left_(ranks) {
  for (int rank = 0; rank < ranks; ++rank) waiting_.insert({0, rank});
  hand_over();
}

void Turns::resume(int rank) { state(rank).computed = processor_time(); }

void Turns::charge(int rank) {
  const double time = processor_time();
  state(rank).clock += scale_ * (time - state(rank).computed);
  state(rank).computed = time;
}

void Turns::hand_over() {
  if (waiting_.empty()) {
    if (left_ == 0) return;
    std::fputs("simulated: every rank waits for another one\n", stderr);
    std::fflush(nullptr);
    std::_Exit(1);
  }
  const auto [at, rank] = *waiting_.begin();
  waiting_.erase(waiting_.begin());
  state(rank).sleeps = false;
  state(rank).clock = std::max(state(rank).clock, at);
  state(rank).turn.release();
}

void Turns::wait_for_turn(int rank) {
  hand_over();
  state(rank).turn.acquire();
  resume(rank);
}

void Turns::begin(int rank) {
  state(rank).turn.acquire();
  resume(rank);
}

void Turns::end(int rank) {
  charge(rank);
  state(rank).ended = true;
  --left_;
  if (left_ > 0 && met_ == left_) release_barrier();
  hand_over();
}

double Turns::now(int rank) {
  charge(rank);
  return state(rank).clock;
}

void Turns::pass(int rank, double seconds) {
  charge(rank);
  state(rank).clock += seconds;
}

double Turns::catch_up(int rank, double slack) {
  charge(rank);
  const double clock = state(rank).clock;
  if (!waiting_.empty() && waiting_.begin()->first + slack < clock) {
    waiting_.insert({clock, rank});
    wait_for_turn(rank);
  }
  return state(rank).clock;
}

void Turns::sleep(int rank, double until) {
  charge(rank);
  State& own = state(rank);
  own.until = std::max(until, own.clock);
  own.sleeps = true;
  if (until != kNever) waiting_.insert({own.until, rank});
  wait_for_turn(rank);
}

void Turns::wake(int rank, double at) {
  State& other = state(rank);
  if (!other.sleeps || at >= other.until) return;
  waiting_.erase({other.until, rank});
  other.until = std::max(at, other.clock);
  waiting_.insert({other.until, rank});
}

void Turns::release_barrier() {
  met_ = 0;
  double latest = 0;
  for (const State& each : states_) latest = std::max(latest, each.clock);
  for (int rank = 0; rank < static_cast<int>(states_.size()); ++rank) {
    if (state(rank).ended) continue;
    state(rank).clock = latest;
    waiting_.insert({latest, rank});
  }
}

void Turns::meet(int rank) {
  charge(rank);
  if (++met_ == left_) release_barrier();
  wait_for_turn(rank);
}

}  // namespace sparsecoll::perf
