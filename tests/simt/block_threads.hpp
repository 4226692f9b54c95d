// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <functional>
#include <mutex>

namespace simt {

/// Threads of the operating system that run blocks. They sleep between grids, because each has a
/// copy of the shared memory of all kernels in the program, more than a megabyte, that the system
/// would have to clear for every launch. They never end. One caller at a time.
class BlockThreads {
 public:
  /// The threads of this process. A child after fork() has none of its parent's, and gets its own.
  static BlockThreads& of_process();

  /// Runs `work` on so many threads at the same time, one of which is the caller.
  void run(unsigned threads, const std::function<void()>& work);

 private:
  BlockThreads();
  void serve();

  const pid_t process_;
  std::mutex mutex_;
  std::condition_variable begun_;
  std::condition_variable finished_;
  const std::function<void()>* work_ = nullptr;
  unsigned started_ = 0;
  unsigned waiting_ = 0;     ///< runs of `work_` that no thread has begun
  unsigned unfinished_ = 0;  ///< those, and the ones that run
};

}  // namespace simt
