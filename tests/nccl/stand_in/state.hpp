// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The state of the stand-in. The emulator's mutex protects it, because transfers are work on the
// emulator's streams. Communicators are never freed, so that the stand-in recognises one that is
// used after its end. It then ends the program, because such a test could only pass by luck.

#include <nccl.h>

#include <deque>
#include <functional>
#include <machine.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace nccl_stand_in {

/// Adds the values at `from` to those at `to`.
using Addition = void (*)(char* to, const char* from, size_t bytes);

/// A send or a receive.
struct Operation {
  bool is_send;
  char* at;
  size_t bytes;
  int peer;
  Addition add = nullptr;  ///< of a receive: the memory is zeroed, and what comes is added to it
};

/// The operations of one group on one communicator, queued on a stream.
struct Group {
  ncclComm_t comm;
  std::vector<Operation> operations;
  size_t left;                                ///< number of operations that are not done
  bool started = false;                       ///< the stream's work before the group has run
  bool done = false;                          ///< the group has run on its stream
  std::shared_ptr<Group> previous = nullptr;  ///< previous group, until this one has started
  const simt::Work* work = nullptr;           ///< the group as work of the stream, until it is done
};

/// An operation of a group that is queued.
struct QueuedOperation {
  std::shared_ptr<Group> group;
  size_t index;  ///< in the group's operations

  const Operation& operator*() const { return group->operations[index]; }
};

/// The operations that move data from one rank to another. The first send matches the first
/// receive.
struct Channel {
  std::deque<QueuedOperation> queues[2];  ///< receives and sends that are queued and not done
  bool has_called[2] = {};  ///< true after the first call of the receiver, of the sender
  bool is_open() const { return has_called[0] && has_called[1]; }
};

/// The arguments with which a rank has called ncclCommSplit(); those of a shrink are a color of all
/// and the rank.
struct SplitOfRank {
  int color, key;
  bool blocking;
};
/// A split or shrink of a communicator.
struct Split {
  size_t awaited = 0;  ///< number of ranks that make it
  std::map<int, SplitOfRank> ranks = {};
  bool is_complete = false;
  std::map<int, ncclComm_t> made = {};  ///< new communicators that no rank has got yet
};

/// The ranks that were initialised or split together.
struct Clique {
  explicit Clique(int size_) : size(size_), ranks(static_cast<size_t>(size_)) {}

  /// Returns true if all ranks have called.
  bool is_complete() const;

  const int size;
  std::vector<ncclComm_t> ranks;
  std::map<std::pair<int, int>, Channel> channels = {};  ///< by sender and receiver
  std::map<size_t, Split> splits = {};                   ///< by number
  /// By the ranks that are excluded, and by the number among those without them.
  std::map<std::pair<std::vector<int>, size_t>, Split> shrinks = {};
};

/// A call that waits for calls of other ranks.
struct PendingCall {
  ncclComm_t comm;
  std::function<bool()> is_ready;        ///< the other ranks have called
  std::function<ncclResult_t()> finish;  ///< completes the call
};

}  // namespace nccl_stand_in

struct ncclComm {
  std::shared_ptr<nccl_stand_in::Clique> clique;
  int rank;
  int device;
  bool blocking;

  bool initialised = false;
  bool finalized = false;
  bool aborted = false;
  bool broken = false;
  bool gone = false;
  int inside = 0;  ///< number of threads in calls that wait for other ranks
  std::vector<nccl_stand_in::PendingCall> pending = {};
  int polls_left = 0;                ///< how often the state is still reported as "in progress"
  ncclResult_t error = ncclSuccess;  ///< error of a pending call
  size_t splits = 0;                 ///< number of splits
  std::map<std::vector<int>, size_t> shrinks = {};  ///< number of shrinks by their list
  size_t dies_in = 0;  ///< number of groups until the rank dies; 0: it lives
  bool dead = false;
  std::shared_ptr<nccl_stand_in::Group> last = nullptr;
  std::shared_ptr<int> graphs = std::make_shared<int>();  ///< graphs with its groups share it
};

namespace nccl_stand_in {

using simt::Lock;

/// Returns all communicators that were ever made.
std::vector<ncclComm_t>& communicators_ever();
ncclComm_t make_communicator(std::shared_ptr<Clique> clique, int rank, int device, bool blocking);

/// Stores the message for ncclGetLastError() and returns `result`.
ncclResult_t fail(ncclResult_t result, const std::string& message);
/// Returns true if fail_at() has chosen the calling function to fail.
bool must_fail();
/// Returns the error of such a function.
ncclResult_t injected_failure();

/// Returns an error if `comm` is null. Ends the program if `comm` is no communicator or has ended.
ncclResult_t check(ncclComm_t comm);
/// Does the same. Also returns an error if `comm` is not initialised, broken, or in progress.
ncclResult_t check_ready(ncclComm_t comm);

/// Makes the call, or leaves it to the end of the thread's group if one is open.
ncclResult_t do_or_defer(Lock& lock, PendingCall call);
/// Makes the calls. Waits for those of blocking communicators. Those of others complete when the
/// user queries the communicator's state.
ncclResult_t do_all(Lock& lock, std::vector<PendingCall> calls);

/// The operations of one communicator in a group that ends.
struct GroupLaunch {
  ncclComm_t comm;
  std::vector<Operation> operations;
  std::vector<std::shared_ptr<CUstream_st>> streams;  ///< without duplicates
};
/// Returns the call that queues the group. From now on this rank has called, which the first
/// exchange of each peer with this rank waits for.
PendingCall make_group_call(const GroupLaunch& launch);

/// Ends the new communicators of unfinished splits, which the aborted rank will never get.
void end_children(ncclComm_t comm);

/// Returns true if all groups of the communicator have run.
bool is_idle(ncclComm_t comm);
/// Returns the number of groups that were queued in this process.
size_t launched();

}  // namespace nccl_stand_in
