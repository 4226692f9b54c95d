// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the files of the stand-in share. All of it is under the emulator's mutex, for a transfer is
// work of its streams. Communicators are never freed, so that one that is used after its end is
// recognised, which ends the program: such a test could only pass by luck.

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

struct Part {
  bool is_send;
  char* at;
  size_t bytes;
  int peer;
};

/// A group of one communicator that is on a stream.
struct Group {
  ncclComm_t comm;
  std::vector<Part> parts;
  size_t left;                                ///< parts that are not done
  bool started = false;                       ///< all work before it has run
  bool done = false;                          ///< on its stream
  std::shared_ptr<Group> previous = nullptr;  ///< of the communicator, until this one has started
  const simt::Work* work = nullptr;           ///< until it is done
};

/// One part of a group.
struct End {
  std::shared_ptr<Group> group;
  size_t part;

  const Part& operator*() const { return group->parts[part]; }
};

/// What one rank sends to another: the first send goes to the first receive.
struct Channel {
  std::deque<End> ends[2];  ///< receives, sends; on a stream, and not done
  bool has_called[2] = {};  ///< who receives, who sends
  bool is_open() const { return has_called[0] && has_called[1]; }
};

struct SplitOfRank {
  int color, key;
  bool blocking;
};
/// The n-th split of all ranks.
struct Split {
  std::map<int, SplitOfRank> ranks = {};
  bool is_made = false;
  std::map<int, ncclComm_t> made = {};  ///< and not handed out yet
};

struct Clique {
  explicit Clique(int size_) : size(size_), ranks(static_cast<size_t>(size_)) {}

  /// Whether all ranks have called.
  bool is_complete() const;

  const int size;
  std::vector<ncclComm_t> ranks;
  std::map<std::pair<int, int>, Channel> channels = {};  ///< by sender and receiver
  std::map<size_t, Split> splits = {};
};

/// What a call does when it can, which is when other ranks have called, too.
struct Job {
  ncclComm_t comm;
  std::function<bool()> is_ready;
  std::function<ncclResult_t()> finish;
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
  int inside = 0;  ///< calls that wait for other ranks
  std::vector<nccl_stand_in::Job> pending = {};
  int polls_left = 0;                ///< answers "in progress" before it is looked
  ncclResult_t error = ncclSuccess;  ///< of what was pending
  size_t splits = 0;
  std::shared_ptr<nccl_stand_in::Group> last = nullptr;
  std::shared_ptr<int> graphs = std::make_shared<int>();  ///< held by graphs with its groups, too
};

namespace nccl_stand_in {

using simt::Lock;

/// Of all ever made.
std::vector<ncclComm_t>& communicators_ever();
ncclComm_t make_communicator(std::shared_ptr<Clique> clique, int rank, int device, bool blocking);

/// Takes note of the words for ncclGetLastError.
ncclResult_t fail(ncclResult_t result, const std::string& words);
/// Whether the call that asks is to fail.
bool fails();
ncclResult_t told_to_fail();

/// Ends the program where it has ended.
ncclResult_t check(ncclComm_t comm);
/// Also whether it is initialised, and nothing is in progress or wrong.
ncclResult_t check_ready(ncclComm_t comm);

/// Does it, at the end of the thread's group where there is one; a blocking communicator waits.
ncclResult_t do_or_defer(Lock& lock, Job job);
/// Of blocking communicators: now. Of others: when they are asked for their state.
ncclResult_t do_all(Lock& lock, std::vector<Job> jobs);

/// Parts of one communicator in a group that ends.
struct Issue {
  ncclComm_t comm;
  std::vector<Part> parts;
  std::vector<std::shared_ptr<CUstream_st>> streams;  ///< each once
};
/// Says to all peers that this rank has called, which their first exchange with it waits for.
Job make_job(const Issue& issue);

/// Ends what splits have made for that rank, or will, and nobody gets any more.
void end_parts(ncclComm_t comm);

/// Whether all of its groups have run.
bool is_idle(ncclComm_t comm);
size_t launched();

}  // namespace nccl_stand_in
