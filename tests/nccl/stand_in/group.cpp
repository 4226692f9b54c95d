// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Groups of calls, and calls that wait for other ranks. Each thread has a group of its own.

#include <algorithm>

#include "state.hpp"

namespace nccl_stand_in {

namespace {

/// How often a non-blocking call reports "in progress" at least.
constexpr int kPolls = 3;
/// Bytes of a value of each type.
constexpr size_t kBytes[ncclNumTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

/// The group that a thread has open.
struct ThreadGroup {
  int depth = 0;
  ncclResult_t error = ncclSuccess;
  std::vector<PendingCall> calls = {};
  std::vector<GroupLaunch> launches = {};
};
thread_local ThreadGroup group;
size_t reduce_scatters_called = 0;

void add_to_group(ncclComm_t comm, const Operation& operation,
                  const std::shared_ptr<CUstream_st>& stream) {
  auto launch = std::find_if(group.launches.begin(), group.launches.end(),
                             [&](const GroupLaunch& each) { return each.comm == comm; });
  if (launch == group.launches.end()) launch = group.launches.insert(launch, {comm, {}, {}});
  launch->operations.push_back(operation);
  auto& streams = launch->streams;
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
  for (const GroupLaunch& launch : ended.launches) {
    if (const ncclResult_t result = check_ready(launch.comm); result != ncclSuccess) return result;
    ended.calls.push_back(make_group_call(launch));
  }
  return do_all(lock, std::move(ended.calls));
}

/// Returns `result`, and makes an error the result of the open group, too.
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

/// Returns an error unless the message can be sent or received. Sets its bytes.
ncclResult_t check_message(const Message& message, ncclComm_t comm, size_t& bytes) {
  if (message.peer < 0 || message.peer >= comm->clique->size)
    return fail(ncclInvalidArgument, "no such peer");
  if (message.type < 0 || message.type >= ncclNumTypes)
    return fail(ncclInvalidArgument, "no such type");
  bytes = message.count * kBytes[message.type];
  if (bytes > 0 && simt::device_of(message.at, bytes) != comm->device)
    return fail(ncclInvalidArgument, "the buffer is not in memory of the communicator's device");
  return ncclSuccess;
}

/// Adds the operations of one call to the thread's group.
ncclResult_t add(Lock& lock, const std::vector<Operation>& operations, ncclComm_t comm,
                 cudaStream_t handle) {
  // A null stream is the legacy stream of the current device.
  const int before = std::exchange(simt::current, comm->device);
  const auto stream = simt::find(handle);
  simt::current = before;
  if (stream->device != comm->device)
    return fail(ncclUnhandledCudaError, "the stream is on another device than the communicator");
  start_group();
  for (const Operation& operation : operations) add_to_group(comm, operation, stream);
  return end_group(lock);
}

ncclResult_t check_usable(ncclComm_t comm) {
  if (const ncclResult_t result = check_ready(comm); result != ncclSuccess) return result;
  if (comm->finalized) return fail(ncclInvalidUsage, "the communicator is finalized");
  return ncclSuccess;
}

ncclResult_t send_or_receive(const Message& message, ncclComm_t comm, cudaStream_t stream) {
  if (must_fail()) return noted(injected_failure());
  Lock lock(simt::mutex);
  if (const ncclResult_t result = check_usable(comm); result != ncclSuccess) return noted(result);
  size_t bytes = 0;
  if (const ncclResult_t result = check_message(message, comm, bytes); result != ncclSuccess)
    return noted(result);
  return noted(add(lock, {{message.is_send, static_cast<char*>(message.at), bytes, message.peer}},
                   comm, stream));
}

template <class T>
void add_values(char* to, const char* from, size_t bytes) {
  for (size_t i = 0; i < bytes / sizeof(T); ++i)
    reinterpret_cast<T*>(to)[i] += reinterpret_cast<const T*>(from)[i];
}

Addition addition_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt32:
    case ncclUint32:
      return add_values<unsigned>;
    case ncclInt64:
    case ncclUint64:
      return add_values<unsigned long long>;
    case ncclFloat32:
      return add_values<float>;
    case ncclFloat64:
      return add_values<double>;
    default:
      return nullptr;
  }
}

ncclResult_t reduce_scatter(const Message& in, const Message& out, ncclRedOp_t op, ncclComm_t comm,
                            cudaStream_t stream) {
  if (must_fail()) return noted(injected_failure());
  Lock lock(simt::mutex);
  if (const ncclResult_t result = check_usable(comm); result != ncclSuccess) return noted(result);
  size_t bytes = 0;
  for (const Message& each : {in, out})
    if (const ncclResult_t result = check_message(each, comm, bytes); result != ncclSuccess)
      return noted(result);
  const Addition add_them = addition_of(out.type);
  if (op != ncclSum || !add_them)
    return noted(fail(ncclInvalidArgument, "the stand-in adds whole and floating-point numbers"));
  ++reduce_scatters_called;
  std::vector<Operation> operations;
  for (int peer = 0; peer < comm->clique->size; ++peer) {
    char* const share = static_cast<char*>(in.at) + static_cast<size_t>(peer) * bytes;
    operations.push_back({true, share, bytes, peer});
    operations.push_back({false, static_cast<char*>(out.at), bytes, peer, add_them});
  }
  return noted(add(lock, operations, comm, stream));
}

}  // namespace

size_t reduce_scatters() {
  const Lock lock(simt::mutex);
  return reduce_scatters_called;
}

ncclResult_t do_or_defer(Lock& lock, PendingCall call) {
  if (group.depth == 0) return do_all(lock, {std::move(call)});
  group.calls.push_back(std::move(call));
  return ncclSuccess;
}

ncclResult_t do_all(Lock& lock, std::vector<PendingCall> calls) {
  const auto later = std::stable_partition(
      calls.begin(), calls.end(), [](const PendingCall& call) { return call.comm->blocking; });
  for (auto call = later; call != calls.end(); ++call) {
    call->comm->polls_left = kPolls;
    call->comm->pending.push_back(*call);
  }
  ncclResult_t result = later == calls.end() ? ncclSuccess : ncclInProgress;
  calls.erase(later, calls.end());
  for (const PendingCall& call : calls) ++call.comm->inside;
  simt::wait_until(lock, [&] {
    return std::all_of(calls.begin(), calls.end(), [](const PendingCall& call) {
      return call.comm->aborted || call.is_ready();
    });
  });
  for (const PendingCall& call : calls) {
    --call.comm->inside;
    const ncclResult_t call_result =
        call.comm->aborted ? fail(ncclInternalError, "aborted by another thread") : call.finish();
    if (call_result != ncclSuccess) result = call_result;
  }
  simt::note_change();
  return result;
}

}  // namespace nccl_stand_in

using namespace nccl_stand_in;

ncclResult_t ncclGroupStart() { return must_fail() ? noted(injected_failure()) : start_group(); }

ncclResult_t ncclGroupEnd() {
  if (group.depth == 0) return fail(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (must_fail()) noted(injected_failure());
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

ncclResult_t ncclReduceScatter(const void* in, void* out, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  const size_t ranks = comm ? static_cast<size_t>(comm->clique->size) : 0;
  return reduce_scatter({true, const_cast<void*>(in), count * ranks, type, 0},
                        {false, out, count, type, 0}, op, comm, stream);
}
