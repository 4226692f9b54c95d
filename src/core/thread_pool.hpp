// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "core/function_ref.hpp"
#include "core/thread_placement.hpp"

namespace sparsecoll {

/// Threads that run long loops together with their caller. The first loop starts them. Each is
/// bound to one of the CPUs on which its caller may run (thread_placement.hpp), blocks all signals,
/// and sleeps between loops. If the system provides fewer threads, or none, loops are only slower.
/// One caller at a time.
class ThreadPool {
 public:
  /// `threads` includes the caller.
  explicit ThreadPool(size_t threads, const ThreadPlacement& placement = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  size_t threads() const { return threads_; }
  /// Runs task(0) to task(tasks - 1), each on some thread. Returns when all are done. Tasks must
  /// not throw. In a process that was forked from the one with the threads, the caller runs all
  /// tasks.
  void run(size_t tasks, FunctionRef<void(size_t)> task);

 private:
  struct Workers;

  const size_t threads_;
  const ThreadPlacement placement_;
  std::unique_ptr<Workers> workers_;
};

}  // namespace sparsecoll
