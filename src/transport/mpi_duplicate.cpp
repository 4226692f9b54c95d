// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi_duplicate.hpp"

#include <sched.h>

#include <memory>
#include <string>

#include "core/error.hpp"

namespace sparsecoll {

namespace {

std::string error_text(int code) {
  char reason[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, reason, &length);
  return reason;
}

void check_running() {
  int initialised = 0, finalised = 0;
  MPI_Initialized(&initialised);
  if (initialised) MPI_Finalized(&finalised);
  if (!initialised) fail(sparsecollInvalidUsage, "MPI is not initialised: call MPI_Init first");
  if (finalised) fail(sparsecollInvalidUsage, "MPI was finalised already");
}

/// Waits until the request of a collective operation is complete. `written` is the memory to which
/// MPI writes; at the deadline it is leaked together with the request. `what` names the operation.
template <class T>
void wait_for_all(MPI_Request request, std::unique_ptr<T>& written, const Deadline& deadline,
                  const char* what) {
  for (int done = 0; !done;) {
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), what);
    if (!done && deadline.passed()) {
      static_cast<void>(written.release());
      fail(sparsecollTimeout,
           "deadline passed, not all ranks of the MPI communicator have made this call");
    }
    if (!done) sched_yield();
  }
}

MPI_Comm duplicate(MPI_Comm original, const Deadline& deadline) {
  auto made = std::make_unique<MPI_Comm>(MPI_COMM_NULL);
  MPI_Request request;
  check_mpi(MPI_Comm_idup(original, made.get(), &request), "MPI_Comm_idup");
  wait_for_all(request, made, deadline, "MPI_Comm_idup");
  return *made;
}

/// Gathers the locations of all ranks.
std::vector<RankLocation> gather_locations(MPI_Comm comm, const RankLocation& own,
                                           const Deadline& deadline) {
  int size = 1;
  check_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  struct Locations {
    RankLocation own;
    std::vector<RankLocation> all;
  };
  auto locations = std::make_unique<Locations>(
      Locations{own, std::vector<RankLocation>(static_cast<size_t>(size))});
  MPI_Request request;
  check_mpi(MPI_Iallgather(&locations->own, sizeof own, MPI_BYTE, locations->all.data(), sizeof own,
                           MPI_BYTE, comm, &request),
            "MPI_Iallgather");
  wait_for_all(request, locations, deadline, "MPI_Iallgather");
  return std::move(locations->all);
}

}  // namespace

void check_mpi(int code, const char* what) {
  if (code != MPI_SUCCESS) fail(sparsecollSystemError, what, " failed: ", error_text(code));
}

void check_mpi_peer(int peer, int code, const char* what) {
  if (code != MPI_SUCCESS)
    fail(sparsecollRemoteError, what, " rank ", peer, " failed: ", error_text(code));
}

void check_mpi_caller() {
  check_running();
  int level = MPI_THREAD_SINGLE, main = 0;
  check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
  check_mpi(MPI_Is_thread_main(&main), "MPI_Is_thread_main");
  if (level < MPI_THREAD_SERIALIZED && !main)
    fail(sparsecollInvalidUsage,
         "called from a thread other than the one that initialised MPI, at thread level ",
         level == MPI_THREAD_SINGLE ? "MPI_THREAD_SINGLE" : "MPI_THREAD_FUNNELED");
}

MpiDuplicate::MpiDuplicate(MPI_Comm original, const Deadline& deadline)
    : comm_(duplicate(original, deadline)) {
  check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  int* highest = nullptr;
  int found = 0;
  check_mpi(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &highest, &found), "MPI_TAG_UB");
  if (!found) fail(sparsecollSystemError, "MPI has no attribute MPI_TAG_UB");
  highest_ = *highest;
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &world_rank_), "MPI_Comm_rank");
  int rank = 0;
  check_mpi(MPI_Comm_rank(comm_, &rank), "MPI_Comm_rank");
  const std::vector<RankLocation> all = gather_locations(comm_, RankLocation::here(), deadline);
  failed_ = std::make_unique<std::atomic<bool>[]>(all.size());
  for (const RankLocation& each : all)
    elsewhere_.push_back(each.node != all[static_cast<size_t>(rank)].node);
  cpu_share_ = share_cpus(all, static_cast<size_t>(rank));
}

void MpiDuplicate::note_failure(int rank, int code) noexcept {
  // Errors of classes other than these three come from the arguments, or from this process.
  int kind = MPI_SUCCESS;
  MPI_Error_class(code, &kind);
  if (kind != MPI_ERR_OTHER && kind != MPI_ERR_INTERN && kind != MPI_ERR_UNKNOWN) return;
  failed_[static_cast<size_t>(rank)].store(true, std::memory_order_relaxed);
  any_failed_.store(true, std::memory_order_relaxed);
}

int MpiDuplicate::acquire_tag() {
  const std::lock_guard lock(mutex_);
  constexpr int kTags = 2;  // the tag of the transport, and that of its recovery
  for (int tried = 0; tried <= highest_; tried += kTags) {
    last_ = last_ + kTags >= highest_ ? kFirstTag : last_ + kTags;
    if (in_use_.contains(last_)) continue;
    // A tag with a pending message is skipped: a peer that failed while it closed its end may have
    // sent a notice.
    int late = 0, late_recovery = 0;
    const auto probe = [this](int tag, int* found) {
      check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, tag, comm_, found, MPI_STATUS_IGNORE), "MPI_Iprobe");
    };
    probe(last_, &late);
    probe(recovery_tag(last_), &late_recovery);
    if (late || late_recovery) continue;
    in_use_.insert(last_);
    return last_;
  }
  fail(sparsecollSystemError, "MPI has no tag left for another communicator; its highest tag is ",
       highest_);
}

void MpiDuplicate::release_tag(int tag) {
  const std::lock_guard lock(mutex_);
  in_use_.erase(tag);
  if (in_use_.empty()) check_mpi(MPI_Comm_free(&comm_), "MPI_Comm_free");
}

}  // namespace sparsecoll
