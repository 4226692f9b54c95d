// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <time.h>

#include <chrono>

namespace train {

/// Wall-clock time and processor time of one thread, in seconds. They differ if ranks share cores.
struct ThreadTime {
  double wall = 0;
  double cpu = 0;

  static ThreadTime now() {
    timespec cpu{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now().time_since_epoch();
    return {wall.count(),
            static_cast<double>(cpu.tv_sec) + 1e-9 * static_cast<double>(cpu.tv_nsec)};
  }
};

/// Adds the time of its lifetime to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(ThreadTime& sum) : sum_(sum), start_(ThreadTime::now()) {}
  ~Stopwatch() {
    const ThreadTime end = ThreadTime::now();
    sum_.wall += end.wall - start_.wall;
    sum_.cpu += end.cpu - start_.cpu;
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  ThreadTime& sum_;
  ThreadTime start_;
};

}  // namespace train
