// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Functions of the stand-in for tests.

#include <nccl.h>

#include <cstddef>
#include <string>

namespace nccl_stand_in {

/// Lets the n-th call of NCCL from now on return ncclSystemError and do nothing else; 1 is the next
/// call, 0 none. ncclCommDestroy and ncclCommAbort, which release something, do not count. Returns
/// how many calls were missing until the failure that was asked for before; 0: it has happened, or
/// none was asked for.
std::size_t fail_at(std::size_t n);

/// Makes ncclRemoteError the rank's asynchronous error. Operations of the rank that are not
/// complete wait until its communicator is aborted.
void break_rank(ncclComm_t comm);

/// Lets the rank end like a process that dies, in the n-th group that it queues from now on; 1 is
/// the next group. From then on its operations wait until its communicator is aborted, and no rank
/// is told.
void die_in_group(ncclComm_t comm, std::size_t n);

/// Returns the number of groups that were queued on streams in this process: one for each
/// communicator in a group, and one for each launch of a graph that holds it. A send or receive
/// outside of a group counts as a group.
std::size_t groups_launched();

/// Returns the number of calls of ncclReduceScatter in this process.
std::size_t reduce_scatters();

/// Returns the number of communicators that were neither destroyed nor aborted.
std::size_t communicators();

/// Waits until there are at most `most` of them, for 20 s. Returns their number. The library ends
/// communicators in threads of their own, for which it does not wait long.
std::size_t communicators_in_the_end(std::size_t most);

/// Returns the number of threads in calls of blocking communicators that wait for other ranks.
std::size_t waiting();

/// Returns the number of threads that exist and have destroyed or aborted a communicator. Such a
/// thread takes 2 ms longer to end.
std::size_t threads_that_ended_one();

/// Returns a description of the communicators that were not ended, and of their groups, or "".
std::string not_ended();

/// Waits like communicators_in_the_end(0). Then returns what not_ended() returns.
std::string leftovers();

}  // namespace nccl_stand_in
