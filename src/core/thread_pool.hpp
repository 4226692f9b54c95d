// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "core/function_ref.hpp"

namespace sparsecoll {

/// How many CPUs the calling thread may run on.
size_t count_cpus();
/// Whether these are all that the system has: nobody has bound this process.
bool has_all_cpus();

/// Threads that share long loops with their caller. They are started by the first loop, each bound
/// to one of the CPUs that its caller may run on, block all signals, and sleep between loops. Where
/// the system gives fewer threads, or none, loops are slower, and that is all. One caller at a
/// time.
class ThreadPool {
 public:
  /// `threads` counts the caller. `pool_index`: which of the pools this is that share the caller's
  /// CPUs.
  ThreadPool(size_t threads, size_t pool_index);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  size_t threads() const { return threads_; }
  /// Runs task(0) to task(tasks - 1), which must not throw, each on some thread, and returns when
  /// all are done. In a process that was forked from the one of the threads the caller runs all.
  void run(size_t tasks, FunctionRef<void(size_t)> task);

 private:
  struct Workers;

  const size_t threads_;
  const size_t pool_index_;
  std::unique_ptr<Workers> workers_;
};

}  // namespace sparsecoll
