// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Groups on streams. A group is work of a stream. It is ready when its operations have been
// matched.

#include <algorithm>
#include <cstring>

#include "state.hpp"

namespace nccl_stand_in {

namespace {

size_t groups_launched = 0;

Channel& channel_of(ncclComm_t comm, const Operation& operation) {
  return comm->clique->channels[operation.is_send ? std::pair(comm->rank, operation.peer)
                                                  : std::pair(operation.peer, comm->rank)];
}

bool is_ready(const QueuedOperation& queued) {
  const Group& group = *queued.group;
  return group.started && !group.comm->aborted && !group.comm->broken && !group.comm->dead;
}

void check_memory(const QueuedOperation& queued) {
  if ((*queued).bytes > 0 &&
      simt::device_of((*queued).at, (*queued).bytes) != queued.group->comm->device)
    simt::stop("nccl: memory was freed before it was sent or received");
}

/// Copies messages whose send and receive have both started. A send and a receive of different
/// lengths hang for ever, and so does everything behind them.
void deliver(Channel& channel) {
  auto& receives = channel.queues[false];
  auto& sends = channel.queues[true];
  while (!receives.empty() && !sends.empty() && is_ready(receives.front()) &&
         is_ready(sends.front()) && (*receives.front()).bytes == (*sends.front()).bytes) {
    check_memory(receives.front());
    check_memory(sends.front());
    const Operation& to = *receives.front();
    if (to.add)
      to.add(to.at, (*sends.front()).at, to.bytes);
    else
      std::memmove(to.at, (*sends.front()).at, to.bytes);
    for (auto& queue : channel.queues) {
      --queue.front().group->left;
      queue.pop_front();
    }
    simt::note_change();
  }
}

class Transfer final : public simt::Work {
 public:
  explicit Transfer(std::shared_ptr<Group> group) : group_(std::move(group)) {
    group_->work = this;
  }

  bool ready() override {
    if (group_->comm->aborted) return true;
    if (!group_->started && (!group_->previous || group_->previous->done)) start();
    return group_->left == 0;
  }

  std::vector<simt::Marker> waits_for() const override {
    if (!group_->started) return {group_->previous->work->marker};
    std::vector<simt::Marker> all;
    for (size_t p = 0; p < group_->operations.size(); ++p) {
      const Channel& channel = channel_of(group_->comm, group_->operations[p]);
      const auto& own = channel.queues[group_->operations[p].is_send];
      const auto& others = channel.queues[!group_->operations[p].is_send];
      const auto here = std::find_if(own.begin(), own.end(), [&](const QueuedOperation& queued) {
        return queued.group == group_ && queued.index == p;
      });
      const auto at = static_cast<size_t>(here - own.begin());
      if (here == own.end() || at >= others.size()) continue;
      const Group& other = *others[at].group;
      if (!other.started && !other.done) all.push_back(other.work->marker);
    }
    return all;
  }

  void run() override {
    group_->done = true;
    group_->previous = nullptr;
    group_->work = nullptr;
  }

 private:
  void start() {
    group_->started = true;
    group_->previous = nullptr;
    simt::note_change();
    for (const Operation& operation : group_->operations)
      if (operation.add) std::memset(operation.at, 0, operation.bytes);
    for (const Operation& operation : group_->operations)
      deliver(channel_of(group_->comm, operation));
  }

  const std::shared_ptr<Group> group_;
};

/// Returns the group of these operations, which is about to be queued.
std::shared_ptr<Group> begin(ncclComm_t comm, const std::vector<Operation>& operations) {
  if (comm->gone) simt::stop("nccl: a graph is launched after the end of its communicator");
  ++groups_launched;
  if (comm->dies_in > 0 && --comm->dies_in == 0) comm->dead = true;
  const auto group = std::make_shared<Group>(Group{comm, operations, operations.size()});
  if (comm->last && !comm->last->done) group->previous = comm->last;
  comm->last = group;
  for (size_t p = 0; p < operations.size(); ++p)
    channel_of(comm, operations[p]).queues[operations[p].is_send].push_back({group, p});
  return group;
}

/// Queues the group after all work of its streams, and before all later work of them.
cudaError_t put_on_streams(const GroupLaunch& launch) {
  const auto& first = launch.streams.front();
  CUevent_st event{first->device};
  cudaError_t error = cudaSuccess;
  const auto order = [&](const auto& before, const auto& after) {
    if (error == cudaSuccess && before != after) error = simt::record(event, before.get());
    if (error == cudaSuccess && before != after) error = simt::wait_event(after.get(), event);
  };
  for (const auto& stream : launch.streams) order(stream, first);
  if (error != cudaSuccess) return error;
  error = simt::submit(first.get(),
                       [comm = launch.comm, operations = launch.operations,
                        held = launch.comm->graphs]() -> std::unique_ptr<simt::Work> {
                         return std::make_unique<Transfer>(begin(comm, operations));
                       });
  for (const auto& stream : launch.streams) order(first, stream);
  return error;
}

}  // namespace

bool is_idle(ncclComm_t comm) { return !comm->last || comm->last->done; }
size_t launched() { return groups_launched; }

PendingCall make_group_call(const GroupLaunch& launch) {
  ncclComm_t const comm = launch.comm;
  std::vector<Channel*> channels;
  for (const Operation& operation : launch.operations) {
    Channel& channel = channel_of(comm, operation);
    channel.has_called[operation.is_send] = true;
    channels.push_back(&channel);
  }
  simt::note_change();
  const auto is_ready = [channels] {
    return std::all_of(channels.begin(), channels.end(),
                       [](const Channel* channel) { return channel->is_open(); });
  };
  const auto captured = launch.streams.front()->capture;
  const auto finish = [launch, captured] {
    if (launch.streams.front()->capture != captured)
      simt::stop("nccl: a capture that began or ended while a group was in progress");
    const cudaError_t error = put_on_streams(launch);
    return error == cudaSuccess ? ncclSuccess
                                : fail(ncclUnhandledCudaError, cudaGetErrorString(error));
  };
  return {comm, is_ready, finish};
}

}  // namespace nccl_stand_in
