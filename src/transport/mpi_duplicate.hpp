// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "core/deadline.hpp"
#include "transport/rank_location.hpp"

namespace sparsecoll {

/// Throws SystemError with MPI's error text unless `code` is MPI_SUCCESS. `what` names the call.
void check_mpi(int code, const char* what);
/// Throws RemoteError with MPI's error text unless `code` is MPI_SUCCESS. Some MPIs (MPICH over
/// UCX) notice that a process has ended. They report it in a call that moves a message to or from
/// `peer`.
void check_mpi_peer(int peer, int code, const char* what);
/// Throws InvalidUsage unless MPI is running and its thread level allows this thread to call it.
void check_mpi_caller();

/// A duplicate of the caller's MPI communicator, shared on this rank by a transport and by all
/// transports that are split from it. Each of them receives under a tag of its own, which this rank
/// has chosen and sent to its peers. So
/// - a split needs no MPI call that waits for other ranks. MPI 3 has no call for some of the ranks
///   that could be given up at a deadline. A call for all ranks (MPI_Comm_idup) would never
///   complete after a rank has died, and with Open MPI later ones of this process would then wait
///   for it;
/// - ranks need not agree on a tag: two transports that have only some ranks in common cannot
///   receive each other's messages.
///
/// The last transport on this rank that is closed frees the duplicate. MPI_Comm_free is collective,
/// and ranks may call it at different times, because a split may outlive its parent. But it does
/// not wait for peers: the standard expects it to be local, and Open MPI and MPICH only drop a
/// reference (plugins for a network's own collectives were not tried). A transport that was
/// abandoned keeps the duplicate for ever, because its messages may still be in flight.
class MpiDuplicate {
 public:
  /// Duplicates `original` within the deadline. Collective. If a rank does not call it in time, the
  /// unfinished operation is leaked, and so is the duplicate if it exists.
  MpiDuplicate(MPI_Comm original, const Deadline& deadline);
  MpiDuplicate(const MpiDuplicate&) = delete;
  MpiDuplicate& operator=(const MpiDuplicate&) = delete;

  MPI_Comm comm() const { return comm_; }

  /// The tag of the first transport on every rank. It is in use from the beginning. Transports have
  /// even tags; the odd one behind each is that of its recovery().
  static constexpr int kFirstTag = 0;
  static constexpr int recovery_tag(int tag) { return tag + 1; }
  static constexpr bool is_recovery_tag(int tag) { return tag % 2 == 1; }
  int highest_tag() const { return highest_; }
  /// Returns this process's rank in MPI_COMM_WORLD.
  int world_rank() const { return world_rank_; }
  /// Returns true if that rank of comm() is on another node than this one.
  bool is_on_other_node(int rank) const { return elsewhere_[static_cast<size_t>(rank)]; }
  /// Records that a send to this rank of comm() has failed with this code. Some MPIs report a
  /// process that has died in this way.
  void note_failure(int rank, int code) noexcept;
  /// Returns true if that rank of comm() seems to have died.
  bool has_failed(int rank) const {
    return failed_[static_cast<size_t>(rank)].load(std::memory_order_relaxed);
  }
  /// Returns true if has_failed() is true for any rank.
  bool any_failed() const { return any_failed_.load(std::memory_order_relaxed); }
  /// Returns how many ranks of comm() use the same CPUs as this one.
  const CpuShare& cpu_share() const { return cpu_share_; }
  /// Returns a tag that is not in use and for which no message is pending. Throws SystemError if
  /// there is none.
  int acquire_tag();
  /// Takes back a tag to which no peer sends any more. Frees the duplicate if it was the last one.
  void release_tag(int tag);

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int highest_ = 0;
  int world_rank_ = 0;
  std::vector<bool> elsewhere_;  ///< by rank of comm(): on another node
  CpuShare cpu_share_;
  std::unique_ptr<std::atomic<bool>[]> failed_;  ///< by rank of comm()
  std::atomic<bool> any_failed_{false};
  /// Guards the tags: two threads may use two communicators at the same time.
  std::mutex mutex_;
  std::set<int> in_use_{kFirstTag};
  int last_ = kFirstTag;  ///< the tag that was acquired last
};

}  // namespace sparsecoll
