// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/thread_team.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>

namespace sparsecoll::perf {
namespace {

constexpr std::size_t kCacheLine = 64;  // elements, so that no two parts share a cache line

/// Returns the CPUs on which this thread may run, beginning with the one on which it runs now.
std::vector<int> own_cpus() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &mask)) cpus.push_back(cpu);
  }
  const auto here = std::ranges::find(cpus, sched_getcpu());
  if (here != cpus.end()) std::rotate(cpus.begin(), here, cpus.end());
  return cpus;
}

}  // namespace

ThreadTeam::ThreadTeam(std::size_t threads)
    : threads_(threads), barrier_(static_cast<std::ptrdiff_t>(threads)) {
  const std::vector<int> cpus = own_cpus();
  for (std::size_t part = 1; part < threads; ++part) {
    others_.emplace_back([this, part] { serve(part); });
    if (cpus.empty()) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(cpus[part % cpus.size()]), &one);
    pthread_setaffinity_np(others_.back().native_handle(), sizeof(one), &one);
  }
}

ThreadTeam::~ThreadTeam() {
  work_ = nullptr;
  barrier_.arrive_and_wait();
  for (std::thread& each : others_) each.join();
}

void ThreadTeam::run(std::size_t count, const std::function<void(std::size_t, std::size_t)>& work) {
  count_ = count;
  work_ = &work;
  barrier_.arrive_and_wait();
  do_part(0);
  barrier_.arrive_and_wait();
}

void ThreadTeam::serve(std::size_t part) {
  for (;;) {
    barrier_.arrive_and_wait();
    if (work_ == nullptr) return;
    do_part(part);
    barrier_.arrive_and_wait();
  }
}

void ThreadTeam::do_part(std::size_t part) const {
  const auto begin_of = [this](std::size_t p) {
    return p == threads_ ? count_ : count_ / threads_ * p / kCacheLine * kCacheLine;
  };
  (*work_)(begin_of(part), begin_of(part + 1));
}

}  // namespace sparsecoll::perf
