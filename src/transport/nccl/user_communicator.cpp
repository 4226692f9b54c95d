// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Splits the library's own communicator from the user's.
#include <cuda_runtime.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "core/error.hpp"
#include "transport/nccl/backoff.hpp"
#include "transport/nccl/results.hpp"
#include "transport/nccl/transport.hpp"

namespace sparsecoll {

namespace nccl {

namespace {

/// The user's communicator and this rank in it.
struct UserCommunicator {
  Library library;
  ncclComm_t comm;
  int rank = 0;
  int device = 0;
};

/// A split of the user's communicator in a thread of its own, which shares the task.
/// ncclCommSplit() blocks if the parent is blocking, which NCCL does not report. Only an abort of
/// the parent would end it, but the parent belongs to the user. So if ranks are missing, thread and
/// split are left behind.
///
/// NCCL itself affects the parent in two ways: a split that fails aborts it, and a parent that was
/// made with splitShare = 1 shares its abort flag with its children.
///
/// The user may end the parent as soon as the init has returned. So a split that has not begun by
/// the deadline never begins. If it has, the init waits for kCallReturnWait, because the call may
/// be about to return, or the thread may not have entered NCCL yet. In a blocking parent the call
/// only returns when all ranks have called, or when the user aborts the parent.
struct SplitTask {
  explicit SplitTask(const UserCommunicator& of) : user(of) {}

  const UserCommunicator user;
  /// NCCL writes the new communicator here when all ranks have joined, even if no thread waits any
  /// more.
  std::unique_ptr<ncclComm_t> result_comm = std::make_unique<ncclComm_t>(nullptr);
  std::mutex mutex;
  std::condition_variable changed;
  bool calling = false;  ///< the thread is in ncclCommSplit()
  bool done = false;
  bool abandoned = false;
  ncclResult_t result = ncclSuccess;
};

/// Calls ncclCommSplit(), sets `result` and returns true. If the task has been abandoned, makes no
/// call and returns false.
bool call_split(SplitTask& task, ncclResult_t& result) {
  {
    const std::lock_guard lock(task.mutex);
    if (task.abandoned) return false;
    task.calling = true;
  }
  ncclConfig_t config = own_config();
  result = task.user.library.comm_split(task.user.comm, 0, task.user.rank, task.result_comm.get(),
                                        &config);
  const std::lock_guard lock(task.mutex);
  task.calling = false;
  task.changed.notify_all();
  return true;
}

/// Waits while the parent, which is non-blocking, is in progress, and updates `result`. Returns
/// false if the task has been abandoned.
bool wait_until_complete(SplitTask& task, ncclResult_t& result) {
  for (Backoff backoff; result == ncclInProgress; backoff.wait()) {
    const std::lock_guard lock(task.mutex);
    // The user may have destroyed the parent, so it is not queried any more.
    if (task.abandoned) return false;
    const ncclResult_t queried = task.user.library.async_error(task.user.comm, &result);
    if (queried != ncclSuccess) result = queried;
  }
  return true;
}

void run_split(SplitTask& task) noexcept {
  const Library& library = task.user.library;
  ncclResult_t result = ncclUnhandledCudaError;
  // NCCL restores the current device. In a new thread that is device 0, and setting it would create
  // a context there.
  if (cudaSetDevice(task.user.device) == cudaSuccess && !call_split(task, result)) return;
  if (!wait_until_complete(task, result)) {
    task.result_comm.release();  // NCCL will still write there
    return;
  }
  std::unique_lock lock(task.mutex);
  if (task.abandoned) {
    lock.unlock();
    if (*task.result_comm) library.comm_abort(*task.result_comm);
    return;
  }
  task.result = result;
  task.done = true;
  task.changed.notify_all();
}

/// Waits until the user's communicator is ready: a non-blocking one may still be in progress.
void await_ready(const UserCommunicator& user, const Deadline& deadline) {
  for (Backoff backoff;; backoff.wait()) {
    const bool last = deadline.passed();
    ncclResult_t state = ncclSuccess;
    require_user_call(user.library, user.library.async_error(user.comm, &state),
                      "ncclCommGetAsyncError");
    require_user_call(user.library, state, "nccl");
    if (state != ncclInProgress) return;
    if (last) fail(sparsecollTimeout, "nccl: the communicator was not ready within the deadline");
  }
}

/// Checks that `comm` can be split, and queries its rank and device.
UserCommunicator inspect(ncclComm_t comm, const Deadline& deadline) {
  if (!comm) fail(sparsecollInvalidArgument, "nccl: expected a communicator, got NULL");
  UserCommunicator user{open_nccl_library(), comm};
  const Library& library = user.library;
  require_version(library);
  await_ready(user, deadline);
  require_user_call(library, library.comm_rank(comm, &user.rank), "ncclCommUserRank");
  require_user_call(library, library.comm_device(comm, &user.device), "ncclCommCuDevice");
  return user;
}

std::unique_ptr<Communicator> split(const UserCommunicator& user, const Deadline& deadline) {
  const auto task = std::make_shared<SplitTask>(user);
  try {
    std::thread([task] { run_split(*task); }).detach();
  } catch (const std::system_error& error) {
    fail(sparsecollSystemError, "nccl: no thread for ncclCommSplit: ", error.what());
  }
  std::unique_lock lock(task->mutex);
  while (!task->done) {
    if (deadline.passed()) {
      task->abandoned = true;
      task->changed.wait_for(lock, kCallReturnWait, [&] { return !task->calling; });
      fail(sparsecollTimeout,
           "nccl: not all ranks of the communicator have called within the deadline");
    }
    task->changed.wait_until(lock, deadline.within(std::chrono::milliseconds(100)));
  }
  std::unique_ptr<Communicator> own;
  if (*task->result_comm)  // after a failure, too: it is released then
    own = std::make_unique<Communicator>(user.library, *task->result_comm, user.device);
  require_user_call(user.library, task->result, "ncclCommSplit");
  if (!own) fail(sparsecollSystemError, "ncclCommSplit: made no communicator");
  return own;
}

}  // namespace

}  // namespace nccl

std::unique_ptr<StreamTransport> make_nccl_transport(ncclComm* comm, const Deadline& deadline) {
  const nccl::UserCommunicator user = nccl::inspect(comm, deadline);
  auto own = nccl::split(user, deadline);
  if (!own->wait_ready(deadline))
    fail(sparsecollTimeout, "nccl: the new communicator was not ready within the deadline");
  return std::make_unique<nccl::NcclTransport>(std::move(own), deadline);
}

}  // namespace sparsecoll
