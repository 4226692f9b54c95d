// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Groups on streams: one is a piece of work that is ready when all of its parts have met theirs.

#include <algorithm>
#include <cstring>

#include "state.hpp"

namespace nccl_stand_in {

namespace {

size_t groups = 0;

Channel& channel_of(ncclComm_t comm, const Part& part) {
  return comm->clique->channels[part.is_send ? std::pair(comm->rank, part.peer)
                                             : std::pair(part.peer, comm->rank)];
}

bool can_move(const End& end) {
  const Group& group = *end.group;
  return group.started && !group.comm->aborted && !group.comm->broken;
}

void check_still_there(const End& end) {
  if ((*end).bytes > 0 && simt::device_of((*end).at, (*end).bytes) != end.group->comm->device)
    simt::stop("nccl: memory was freed before it was sent or received");
}

/// Moves what has been started on both sides. Messages of unequal lengths never move.
void move_along(Channel& channel) {
  auto& receives = channel.ends[false];
  auto& sends = channel.ends[true];
  while (!receives.empty() && !sends.empty() && can_move(receives.front()) &&
         can_move(sends.front()) && (*receives.front()).bytes == (*sends.front()).bytes) {
    check_still_there(receives.front());
    check_still_there(sends.front());
    std::memmove((*receives.front()).at, (*sends.front()).at, (*sends.front()).bytes);
    for (auto& ends : channel.ends) {
      --ends.front().group->left;
      ends.pop_front();
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
    for (size_t p = 0; p < group_->parts.size(); ++p) {
      const Channel& channel = channel_of(group_->comm, group_->parts[p]);
      const auto& own = channel.ends[group_->parts[p].is_send];
      const auto& others = channel.ends[!group_->parts[p].is_send];
      const auto here = std::find_if(own.begin(), own.end(), [&](const End& end) {
        return end.group == group_ && end.part == p;
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
    for (const Part& part : group_->parts) move_along(channel_of(group_->comm, part));
  }

  const std::shared_ptr<Group> group_;
};

/// A group that is about to be queued.
std::shared_ptr<Group> begin(ncclComm_t comm, const std::vector<Part>& parts) {
  if (comm->gone) simt::stop("nccl: a graph is launched after the end of its communicator");
  ++groups;
  const auto group = std::make_shared<Group>(Group{comm, parts, parts.size()});
  if (comm->last && !comm->last->done) group->previous = comm->last;
  comm->last = group;
  for (size_t p = 0; p < parts.size(); ++p)
    channel_of(comm, parts[p]).ends[parts[p].is_send].push_back({group, p});
  return group;
}

/// After all work of its streams, and before what they are given next.
cudaError_t put_on_streams(const Issue& issue) {
  const auto& first = issue.streams.front();
  CUevent_st event{first->device};
  cudaError_t error = cudaSuccess;
  const auto order = [&](const auto& before, const auto& after) {
    if (error == cudaSuccess && before != after) error = simt::record(event, before.get());
    if (error == cudaSuccess && before != after) error = simt::wait_event(after.get(), event);
  };
  for (const auto& stream : issue.streams) order(stream, first);
  if (error != cudaSuccess) return error;
  error = simt::submit(first.get(),
                       [comm = issue.comm, parts = issue.parts,
                        held = issue.comm->graphs]() -> std::unique_ptr<simt::Work> {
                         return std::make_unique<Transfer>(begin(comm, parts));
                       });
  for (const auto& stream : issue.streams) order(first, stream);
  return error;
}

}  // namespace

bool is_idle(ncclComm_t comm) { return !comm->last || comm->last->done; }
size_t launched() { return groups; }

Job make_job(const Issue& issue) {
  ncclComm_t const comm = issue.comm;
  std::vector<Channel*> channels;
  for (const Part& part : issue.parts) {
    Channel& channel = channel_of(comm, part);
    channel.has_called[part.is_send] = true;
    channels.push_back(&channel);
  }
  simt::note_change();
  const auto is_ready = [channels] {
    return std::all_of(channels.begin(), channels.end(),
                       [](const Channel* channel) { return channel->is_open(); });
  };
  const auto captured = issue.streams.front()->capture;
  const auto finish = [issue, captured] {
    if (issue.streams.front()->capture != captured)
      simt::stop("nccl: a capture that began or ended while a group was in progress");
    const cudaError_t error = put_on_streams(issue);
    return error == cudaSuccess ? ncclSuccess
                                : fail(ncclUnhandledCudaError, cudaGetErrorString(error));
  };
  return {comm, is_ready, finish};
}

}  // namespace nccl_stand_in
