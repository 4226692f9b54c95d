// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <mutex>
#include <set>
#include <vector>

#include "core/deadline.hpp"

namespace sparsecoll {

/// Throws SystemError with MPI's own words unless the call that gave `code` succeeded.
void check_mpi(int code, const char* what);
/// The same of a message to or from that peer, as RemoteError: some MPIs find out that a process is
/// gone (MPICH over UCX), and say so where a message is moved.
void check_mpi_peer(int peer, int code, const char* what);
/// MPI is running and its thread level allows this thread to call it; else throws InvalidUsage.
void check_mpi_caller();

/// A duplicate of the caller's MPI communicator, as one rank holds it for a communicator of the
/// library and for all that are split from it. Each of them receives under a tag that this rank
/// chose for it and told its peers, so that
/// - a split needs no call of MPI that waits for others. MPI 3 has none for a part of the ranks
///   that could be given up at a deadline, and one for all ranks (MPI_Comm_idup) would be left
///   behind when a rank dies; with Open MPI later ones of this process wait for it then;
/// - nobody has to agree on a tag: two communicators that meet on some ranks only cannot collide.
///
/// The duplicate is freed with the last of them on this rank. MPI_Comm_free is collective, and the
/// ranks may come to it at different times, when parts outlive the whole; but it hears no peer: the
/// standard expects it to be local, and in Open MPI and MPICH it gives up a reference, no more
/// (what plugins for a network's own collectives attach to communicators was not tried). One of
/// them that broke keeps the duplicate for ever, since its messages may still be under way.
class MpiDuplicate {
 public:
  /// Collective over `original`, within the deadline. Where a rank does not come what waits for it
  /// is left behind, and so is the duplicate if there is one.
  MpiDuplicate(MPI_Comm original, const Deadline& deadline);
  MpiDuplicate(const MpiDuplicate&) = delete;
  MpiDuplicate& operator=(const MpiDuplicate&) = delete;

  MPI_Comm comm() const { return comm_; }

  /// The whole receives under it on every rank; taken from the beginning.
  static constexpr int kFirstTag = 0;
  int highest_tag() const { return highest_; }
  /// In MPI_COMM_WORLD.
  int world_rank() const { return world_rank_; }
  /// Whether that rank of comm() is on another machine.
  bool is_on_other_machine(int rank) const { return elsewhere_[static_cast<size_t>(rank)]; }
  /// A tag under which nobody has sent anything to this rank that is still to come.
  int acquire_tag();
  /// Nothing is sent to this rank under it any more. After the last one the duplicate is freed.
  void release_tag(int tag);

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int highest_ = 0;
  int world_rank_ = 0;
  std::vector<bool> elsewhere_;
  std::mutex mutex_;  ///< of what follows; two communicators may be in use by two threads
  std::set<int> taken_{kFirstTag};
  int last_ = kFirstTag;
};

}  // namespace sparsecoll
