// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Groups of calls, which are of a thread, and calls that wait for other ranks.

#include <algorithm>

#include "state.hpp"

namespace nccl_stand_in {

namespace {

constexpr int kPolls = 3;
constexpr size_t kBytes[ncclNumTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

struct ThreadGroup {
  int depth = 0;
  ncclResult_t error = ncclSuccess;
  std::vector<Job> jobs = {};
  std::vector<Issue> issues = {};
};
thread_local ThreadGroup group;

void add_to_group(ncclComm_t comm, const Part& part, const std::shared_ptr<CUstream_st>& stream) {
  auto issue = std::find_if(group.issues.begin(), group.issues.end(),
                            [&](const Issue& each) { return each.comm == comm; });
  if (issue == group.issues.end()) issue = group.issues.insert(issue, {comm, {}, {}});
  issue->parts.push_back(part);
  auto& streams = issue->streams;
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
}

ncclResult_t start_group() {
  ++group.depth;
  return ncclSuccess;
}

ncclResult_t end_group(Lock& lock) {
  if (--group.depth > 0) return ncclSuccess;
  ThreadGroup ended = std::exchange(group, {});
  if (ended.error != ncclSuccess) return ended.error;
  for (const Issue& issue : ended.issues) {
    if (const ncclResult_t result = check_ready(issue.comm); result != ncclSuccess) return result;
    ended.jobs.push_back(make_job(issue));
  }
  return do_all(lock, std::move(ended.jobs));
}

/// The error of a call within a group is that of the group, too.
ncclResult_t noted(ncclResult_t result) {
  if (group.depth > 0 && result != ncclSuccess && group.error == ncclSuccess) group.error = result;
  return result;
}

struct Message {
  bool is_send;
  void* at;
  size_t count;
  ncclDataType_t type;
  int peer;
};

ncclResult_t add(Lock& lock, const Message& message, ncclComm_t comm, cudaStream_t handle) {
  if (const ncclResult_t result = check_ready(comm); result != ncclSuccess) return result;
  if (comm->finalized) return fail(ncclInvalidUsage, "the communicator is finalized");
  if (message.peer < 0 || message.peer >= comm->clique->size)
    return fail(ncclInvalidArgument, "a peer that there is not");
  if (message.type < 0 || message.type >= ncclNumTypes)
    return fail(ncclInvalidArgument, "a type that there is not");
  const size_t bytes = message.count * kBytes[message.type];
  if (bytes > 0 && simt::device_of(message.at, bytes) != comm->device)
    return fail(ncclInvalidArgument, "a buffer that is not memory of the communicator's device");
  const int before = std::exchange(simt::current, comm->device);  // whose legacy stream NULL is
  const auto stream = simt::find(handle);
  simt::current = before;
  if (stream->device != comm->device)
    return fail(ncclUnhandledCudaError, "a stream of another device than the communicator's");
  const Part part{message.is_send, static_cast<char*>(message.at), bytes, message.peer};
  start_group();
  add_to_group(comm, part, stream);
  return end_group(lock);
}

ncclResult_t send_or_receive(const Message& message, ncclComm_t comm, cudaStream_t stream) {
  if (fails()) return noted(told_to_fail());
  Lock lock(simt::mutex);
  return noted(add(lock, message, comm, stream));
}

}  // namespace

ncclResult_t do_or_defer(Lock& lock, Job job) {
  if (group.depth == 0) return do_all(lock, {std::move(job)});
  group.jobs.push_back(std::move(job));
  return ncclSuccess;
}

ncclResult_t do_all(Lock& lock, std::vector<Job> jobs) {
  const auto later = std::stable_partition(jobs.begin(), jobs.end(),
                                           [](const Job& job) { return job.comm->blocking; });
  for (auto job = later; job != jobs.end(); ++job) {
    job->comm->polls_left = kPolls;
    job->comm->pending.push_back(*job);
  }
  ncclResult_t result = later == jobs.end() ? ncclSuccess : ncclInProgress;
  jobs.erase(later, jobs.end());
  for (const Job& job : jobs) ++job.comm->inside;
  simt::wait_until(lock, [&] {
    return std::all_of(jobs.begin(), jobs.end(),
                       [](const Job& job) { return job.comm->aborted || job.is_ready(); });
  });
  for (const Job& job : jobs) {
    --job.comm->inside;
    const ncclResult_t one =
        job.comm->aborted ? fail(ncclInternalError, "aborted by another thread") : job.finish();
    if (one != ncclSuccess) result = one;
  }
  simt::note_change();
  return result;
}

}  // namespace nccl_stand_in

using namespace nccl_stand_in;

ncclResult_t ncclGroupStart() { return fails() ? noted(told_to_fail()) : start_group(); }

ncclResult_t ncclGroupEnd() {
  if (group.depth == 0) return fail(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (fails()) noted(told_to_fail());
  Lock lock(simt::mutex);
  return end_group(lock);
}

ncclResult_t ncclSend(const void* buffer, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return send_or_receive({true, const_cast<void*>(buffer), count, type, peer}, comm, stream);
}
ncclResult_t ncclRecv(void* buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return send_or_receive({false, buffer, count, type, peer}, comm, stream);
}
