// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// From the caller's communicator to one of the library's own.
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

/// The caller's communicator, and this rank in it.
struct Callers {
  Library library;
  ncclComm_t comm;
  int rank = 0;
  int device = 0;
};

/// The split of the caller's communicator, shared with the thread that makes it. ncclCommSplit()
/// blocks as its parent does, which cannot be asked, and nothing ends it but to abort the parent,
/// which is not ours: when ranks are missing, thread and split are left to themselves.
///
/// What NCCL does to the parent cannot be helped: a split that fails aborts it, and a parent that
/// was made with splitShare = 1 shares with its parts the flag that aborts.
struct Split {
  explicit Split(const Callers& of) : callers(of) {}

  const Callers callers;
  /// Where NCCL puts the new communicator when all ranks have come, whoever waits for it.
  std::unique_ptr<ncclComm_t> made = std::make_unique<ncclComm_t>(nullptr);
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  bool abandoned = false;
  ncclResult_t result = ncclSuccess;
};

/// While the parent, which does not block, is in progress. False when nobody waits any more.
bool follow(Split& split, ncclResult_t& result) {
  for (Pause pause; result == ncclInProgress; pause.rest()) {
    const std::lock_guard lock(split.mutex);
    // The parent may be gone from now on.
    if (split.abandoned) return false;
    const ncclResult_t looked = split.callers.library.async_error(split.callers.comm, &result);
    if (looked != ncclSuccess) result = looked;
  }
  return true;
}

void carry_out(Split& split) noexcept {
  const Library& library = split.callers.library;
  ncclResult_t result = ncclUnhandledCudaError;
  // NCCL puts back the current device that it finds, and to set one makes a context on it: in a new
  // thread, on device 0.
  if (cudaSetDevice(split.callers.device) == cudaSuccess) {
    ncclConfig_t config = own_config();
    result =
        library.comm_split(split.callers.comm, 0, split.callers.rank, split.made.get(), &config);
  }
  if (!follow(split, result)) {
    split.made.release();  // NCCL will write there
    return;
  }
  std::unique_lock lock(split.mutex);
  if (split.abandoned) {
    lock.unlock();
    if (*split.made) library.comm_abort(*split.made);
    return;
  }
  split.result = result;
  split.done = true;
  split.changed.notify_all();
}

/// Waits until the caller's communicator is ready: he may have made one that does not block.
void await_ready(const Callers& callers, const Deadline& deadline) {
  for (Pause pause;; pause.rest()) {
    const bool last = deadline.passed();
    ncclResult_t state = ncclSuccess;
    require_callers(callers.library, callers.library.async_error(callers.comm, &state),
                    "ncclCommGetAsyncError");
    require_callers(callers.library, state, "nccl");
    if (state != ncclInProgress) return;
    if (last) fail(sparsecollTimeout, "nccl: the communicator was not ready within the deadline");
  }
}

Callers look_at(ncclComm_t comm, const Deadline& deadline) {
  if (!comm) fail(sparsecollInvalidArgument, "nccl: expected a communicator, got NULL");
  Callers callers{open_nccl_library(), comm};
  const Library& library = callers.library;
  require_version(library);
  await_ready(callers, deadline);
  require_callers(library, library.comm_rank(comm, &callers.rank), "ncclCommUserRank");
  require_callers(library, library.comm_device(comm, &callers.device), "ncclCommCuDevice");
  return callers;
}

std::unique_ptr<Communicator> split(const Callers& callers, const Deadline& deadline) {
  const auto split = std::make_shared<Split>(callers);
  try {
    std::thread([split] { carry_out(*split); }).detach();
  } catch (const std::system_error& error) {
    fail(sparsecollSystemError, "nccl: no thread for ncclCommSplit: ", error.what());
  }
  std::unique_lock lock(split->mutex);
  while (!split->done) {
    if (deadline.passed()) {
      split->abandoned = true;
      fail(sparsecollTimeout,
           "nccl: not all ranks of the communicator have called within the deadline");
    }
    split->changed.wait_until(lock, deadline.within(std::chrono::milliseconds(100)));
  }
  std::unique_ptr<Communicator> own;
  if (*split->made)  // after a failure, too, when it is given up
    own = std::make_unique<Communicator>(callers.library, *split->made, callers.device);
  require_callers(callers.library, split->result, "ncclCommSplit");
  if (!own) fail(sparsecollSystemError, "ncclCommSplit: no communicator came of it");
  return own;
}

}  // namespace

}  // namespace nccl

std::unique_ptr<StreamTransport> make_nccl_transport(ncclComm* comm, const Deadline& deadline) {
  const nccl::Callers callers = nccl::look_at(comm, deadline);
  auto own = nccl::split(callers, deadline);
  if (!own->settle(deadline))
    fail(sparsecollTimeout, "nccl: the communicator's part was not ready within the deadline");
  return std::make_unique<nccl::NcclTransport>(std::move(own));
}

}  // namespace sparsecoll
