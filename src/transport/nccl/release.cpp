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

using Call = decltype(&ncclCommAbort);

constexpr int kPatienceMilliseconds = 500;

/// Shared with the thread that calls NCCL, which may outlive whoever waits for it.
struct Ending {
  Remains remains;
  Call call;
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
};

void carry_out(const Remains& remains, Call call) noexcept {
  call(remains.comm);
  // Only now nobody writes there any more. A split that failed may have left one there, too.
  if (remains.part && *remains.part) remains.library.comm_abort(*remains.part);
}

void run(Ending& ending) noexcept {
  // NCCL puts back the current device that it finds, and to set one makes a context on it: in a new
  // thread, on device 0. Where the device is lost, the call has to be made all the same.
  static_cast<void>(cudaSetDevice(ending.remains.device));
  carry_out(ending.remains, ending.call);
  const std::lock_guard lock(ending.mutex);
  ending.done = true;
  ending.changed.notify_all();
}

/// Both calls are made in a thread of their own. NCCL's wait until every graph is destroyed that
/// was captured with the communicator, and may not come back where other ranks of the machine have
/// neither ended nor aborted theirs.
bool end(Remains& remains, Call call, const Deadline& deadline) {
  const auto ending = std::make_shared<Ending>();
  ending->call = call;
  std::swap(ending->remains, remains);
  try {
    std::thread([ending] { run(*ending); }).detach();
  } catch (...) {
    std::swap(ending->remains, remains);
    throw;
  }
  std::unique_lock lock(ending->mutex);
  while (!ending->done && !deadline.passed())
    ending->changed.wait_until(lock, deadline.within(std::chrono::milliseconds(100)));
  return ending->done;
}

/// The same in this thread, where there is no memory or thread to be had.
bool end_somehow(Remains& remains, Call call, const Deadline& deadline) noexcept {
  try {
    return end(remains, call, deadline);
  } catch (const std::exception&) {
    carry_out(remains, call);
    return true;
  }
}

}  // namespace

bool destroy(Remains remains, const Deadline& deadline) noexcept {
  return end_somehow(remains, remains.library.comm_destroy, deadline);
}

void abort(Remains remains) noexcept {
  end_somehow(remains, remains.library.comm_abort, Deadline::after(kPatienceMilliseconds));
}

}  // namespace sparsecoll::nccl
