// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/release.hpp"

#include <cuda_runtime.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace sparsecoll::nccl {

namespace {

using ReleaseFunction = decltype(&ncclCommAbort);

constexpr int kAbortWaitMilliseconds = 500;

/// A release in a thread of its own. That thread and the waiting one share the task, because the
/// thread outlives a wait that ended by the deadline.
struct ReleaseTask {
  RetiredCommunicator retired;
  ReleaseFunction release;
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
};

void release_now(const RetiredCommunicator& retired, ReleaseFunction release) noexcept {
  release(retired.comm);
  // NCCL writes nothing to pending_child any more. Even a failed split may have left a communicator
  // there.
  if (retired.pending_child && *retired.pending_child)
    retired.library.comm_abort(*retired.pending_child);
}

void run(ReleaseTask& task) noexcept {
  // NCCL restores the current device. In a new thread that is device 0, and setting it would create
  // a context there. NCCL must be called even if the device is lost.
  static_cast<void>(cudaSetDevice(task.retired.device));
  release_now(task.retired, task.release);
  const std::lock_guard lock(task.mutex);
  task.done = true;
  task.changed.notify_all();
}

bool done_within(ReleaseTask& task, const Deadline& deadline) {
  std::unique_lock lock(task.mutex);
  while (!task.done && !deadline.passed())
    task.changed.wait_until(lock, deadline.within(std::chrono::milliseconds(100)));
  return task.done;
}

/// Calls `release` in a thread of its own and waits for it until the deadline. Returns true if it
/// has returned. NCCL waits until every graph that was captured with the communicator is destroyed,
/// and it may not return while other ranks of the machine have neither destroyed nor aborted
/// theirs. If this returns true, the thread has ended, too: NCCL and CUDA release what they have
/// for each thread at its end, and a program may exit after this call. That end has no deadline,
/// because it waits for nobody.
bool release_in_thread(RetiredCommunicator& retired, ReleaseFunction release,
                       const Deadline& deadline) {
  const auto task = std::make_shared<ReleaseTask>();
  task->release = release;
  std::swap(task->retired, retired);
  std::thread thread;
  try {
    thread = std::thread([task] { run(*task); });
  } catch (...) {
    std::swap(task->retired, retired);
    throw;
  }
  const bool done = done_within(*task, deadline);
  if (done)
    thread.join();
  else
    thread.detach();
  return done;
}

/// Calls `release` as above, but in this thread if no other can be started.
bool release_in_thread_if_possible(RetiredCommunicator& retired, ReleaseFunction release,
                                   const Deadline& deadline) noexcept {
  try {
    return release_in_thread(retired, release, deadline);
  } catch (const std::exception&) {
    release_now(retired, release);
    return true;
  }
}

}  // namespace

bool destroy(RetiredCommunicator retired, const Deadline& deadline) noexcept {
  return release_in_thread_if_possible(retired, retired.library.comm_destroy, deadline);
}

void abort(RetiredCommunicator retired) noexcept {
  release_in_thread_if_possible(retired, retired.library.comm_abort,
                                Deadline::after(kAbortWaitMilliseconds));
}

}  // namespace sparsecoll::nccl
