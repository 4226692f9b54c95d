// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of the thread pool: every task runs once, on CPUs of the caller; the threads block signals
// and do not disturb a forked process.

#include "core/thread_pool.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <set>
#include <thread>
#include <vector>

#include "api/sanitizers.hpp"
#include "support/catch.hpp"

namespace sparsecoll::unit {
namespace {

TEST_CASE("every task runs exactly once before the loop ends") {
  for (const size_t threads : {0, 1, 2, 3, 9}) {
    ThreadPool pool(threads);
    CHECK(pool.threads() == std::max<size_t>(threads, 1));
    for (const size_t tasks : {0, 1, 2, 7, 100}) {
      for (int repeat = 0; repeat < 20; ++repeat) {
        std::vector<int> runs(tasks, 0);
        pool.run(tasks, [&](size_t i) { ++runs[i]; });
        CHECK(runs == std::vector<int>(tasks, 1));
      }
    }
  }
}

/// Runs body() on every thread of the pool at the same time. Returns the results of all threads
/// except the caller.
template <class Result, class Body>
std::vector<Result> results_of_threads(ThreadPool& pool, Body body) {
  const auto caller = std::this_thread::get_id();
  std::atomic<size_t> arrived{0};
  std::vector<Result> results(pool.threads());
  std::vector<int> own(pool.threads(), 0);
  pool.run(pool.threads(), [&](size_t i) {
    ++arrived;
    while (arrived < pool.threads()) std::this_thread::yield();
    if (std::this_thread::get_id() == caller) return;
    results[i] = body();
    own[i] = 1;
  });
  std::vector<Result> results_of_others;
  for (size_t i = 0; i < results.size(); ++i)
    if (own[i] != 0) results_of_others.push_back(results[i]);
  CHECK(results_of_others.size() == pool.threads() - 1);
  return results_of_others;
}

TEST_CASE("threads are bound to CPUs of the caller and block all signals") {
  cpu_set_t callers;
  CPU_ZERO(&callers);
  REQUIRE(sched_getaffinity(0, sizeof callers, &callers) == 0);
  for (const size_t index : {0, 1, 5}) {
    ThreadPool pool(3, {{6, index}});
    for (const cpu_set_t& mask : results_of_threads<cpu_set_t>(pool, [] {
           cpu_set_t own;
           CPU_ZERO(&own);
           sched_getaffinity(0, sizeof own, &own);
           return own;
         })) {
      CHECK(CPU_COUNT(&mask) == 1);
      cpu_set_t both;
      CPU_AND(&both, &mask, &callers);
      CHECK(CPU_COUNT(&both) == 1);
    }
    for (const bool blocked : results_of_threads<char>(pool, [] {
           sigset_t own;
           pthread_sigmask(SIG_BLOCK, nullptr, &own);
           return static_cast<char>(sigismember(&own, SIGINT) == 1 &&
                                    sigismember(&own, SIGUSR1) == 1 &&
                                    sigismember(&own, SIGTERM) == 1);
         }))
      CHECK(blocked);
  }
  sigset_t own;
  pthread_sigmask(SIG_BLOCK, nullptr, &own);
  CHECK(sigismember(&own, SIGUSR1) == 0);
}

TEST_CASE("if the caller is bound to one CPU, so are all threads") {
  std::thread([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(sched_getcpu()), &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    CHECK(count_cpus() == 1);
    ThreadPool pool(2, {{2, 1}});
    const auto masks = results_of_threads<cpu_set_t>(pool, [] {
      cpu_set_t own;
      CPU_ZERO(&own);
      sched_getaffinity(0, sizeof own, &own);
      return own;
    });
    REQUIRE(masks.size() == 1);
    CHECK(CPU_EQUAL(&masks[0], &one));
  }).join();
}

TEST_CASE("idle threads use no CPU time") {
  ThreadPool pool(3);
  results_of_threads<int>(pool, [] { return 0; });
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  CHECK(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC < 0.1);
}

TEST_CASE("a forked process runs loops and ends without the threads") {
  if (kSanitized) return;  // programs with sanitizers do not survive this
  auto* const pool = new ThreadPool(3);
  results_of_threads<int>(*pool, [] { return 0; });
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    size_t sum = 0;
    pool->run(10, [&](size_t i) { sum += i; });
    delete pool;
    _exit(sum == 45 ? 0 : 1);
  }
  REQUIRE(child > 0);
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  size_t sum = 0;
  pool->run(1, [&](size_t) { sum += 1; });
  delete pool;
  CHECK(sum == 1);
}

}  // namespace
}  // namespace sparsecoll::unit
