// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// The end of communicators: finalize, destroy, abort.

#include <atomic>
#include <chrono>
#include <thread>

#include "state.hpp"

namespace nccl_stand_in {

namespace {

constexpr std::chrono::seconds kGraphsEnd{20};

std::atomic<size_t> ending{0};

/// Exists as long as a thread that has ended a communicator. NCCL and CUDA have state of each
/// thread, too, which takes time to release. A process that exits meanwhile may crash.
struct ThreadState {
  ThreadState() { ++ending; }
  ~ThreadState() {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    --ending;
  }
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;
};
void use_thread_state() { static const thread_local ThreadState state; }

bool has_graphs(ncclComm_t comm) { return comm->graphs.use_count() > 1; }

/// Waits until the graphs that hold groups of the communicator are destroyed, as NCCL does, also
/// after an abort. Ends the program if that takes too long, because the test would hang.
void wait_for_graphs(Lock& lock, ncclComm_t comm) {
  const auto deadline = std::chrono::steady_clock::now() + kGraphsEnd;
  if (!simt::wait_until(
          lock, [&] { return !has_graphs(comm); }, deadline))
    simt::stop("nccl: a communicator ends before the CUDA graphs that hold groups of it");
}

void wait_for_groups(Lock& lock, ncclComm_t comm) {
  if (!is_idle(comm)) simt::wait_for(lock, simt::Marker(comm->last->work->marker));
}

ncclResult_t finalize(Lock& lock, ncclComm_t comm) {
  comm->finalized = true;
  if (comm->blocking) {
    wait_for_groups(lock, comm);
    wait_for_graphs(lock, comm);
  }
  const auto is_ready = [comm] {
    const bool idle = is_idle(comm) || simt::advance(simt::Marker(comm->last->work->marker));
    return idle && !has_graphs(comm);
  };
  return do_all(lock, {{comm, is_ready, [] { return ncclSuccess; }}});
}

}  // namespace

size_t threads_that_ended_one() { return ending; }

}  // namespace nccl_stand_in

using namespace nccl_stand_in;

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  if (must_fail()) return injected_failure();
  Lock lock(simt::mutex);
  if (const ncclResult_t result = check_ready(comm); result != ncclSuccess) return result;
  if (comm->finalized) return fail(ncclInvalidUsage, "the communicator is finalized already");
  return finalize(lock, comm);
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (!comm) return ncclSuccess;
  use_thread_state();
  Lock lock(simt::mutex);
  if (const ncclResult_t result = check_ready(comm); result != ncclSuccess) return result;
  wait_for_groups(lock, comm);
  wait_for_graphs(lock, comm);
  if (comm->gone) simt::stop("nccl: a communicator was ended twice");
  comm->gone = true;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (!comm) return ncclSuccess;
  use_thread_state();
  Lock lock(simt::mutex);
  if (const ncclResult_t result = check(comm); result != ncclSuccess) return result;
  if (comm->aborted) simt::stop("nccl: a communicator was ended twice");
  comm->aborted = true;
  comm->pending.clear();
  end_children(comm);
  simt::note_change();
  simt::wait_until(lock, [&] { return comm->inside == 0; });
  wait_for_graphs(lock, comm);
  comm->gone = true;
  return ncclSuccess;
}
