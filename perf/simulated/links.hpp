// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "core/memory.hpp"
#include "simulated/model.hpp"
#include "simulated/virtual_time.hpp"

namespace sparsecoll::perf {

struct RankGroup;

/// The messages that one rank has not yet received. All times are virtual, in seconds.
struct Inbox {
  struct QueuedMessage {
    double due;       ///< time from which the rank can receive it
    uint64_t number;  ///< counts chunks of the whole network; orders messages that are due together
    int peer;
    std::shared_ptr<Buffer> bytes;
    bool operator>(const QueuedMessage& other) const {
      return std::pair(due, number) > std::pair(other.due, other.number);
    }
  };
  Memory memory;
  Pool pool{memory};
  std::priority_queue<QueuedMessage, std::vector<QueuedMessage>, std::greater<>> messages;
  bool gone = false;  ///< the rank has closed its transport
};

/// The links of all nodes. Every node has one link, full duplex; a message inside a node takes no
/// link.
class Links {
 public:
  /// A part of a message on its way. The last one carries the message.
  struct Chunk {
    const RankGroup* group;
    Inbox* inbox;                   ///< inbox of the receiver
    int peer;                       ///< the sender
    std::shared_ptr<Buffer> bytes;  ///< the whole message; null if more chunks follow
  };
  struct Route {
    int from, to;
    double start;  ///< earliest time at which the sender's link can take the chunk
  };
  struct SendTimes {
    double left;     ///< the last byte leaves the sender's link
    double arrives;  ///< the first byte reaches the receiver's link
  };

  Links(int ranks, const NetworkModel& model)
      : model_(model),
        nodes_(static_cast<size_t>(ranks / model.ranks_per_node + 1)),
        copied_(static_cast<size_t>(ranks)) {}

  /// Sends `bytes` bytes of a message along the route.
  SendTimes send(const Route& route, size_t bytes, Chunk chunk) {
    Node &source = nodes_[node(route.from)], &target = nodes_[node(route.to)];
    const auto size = static_cast<double>(bytes);
    if (&source == &target) {
      double& left = copied_[static_cast<size_t>(route.from)];
      left = std::max(route.start, left) + kSharedByte * size;
      const double due = left + kSharedLatency;
      deliver(due, sent_++, std::move(chunk));
      return {left, due};
    }
    const double duration = 8 * size / model_.rate, first = std::max(route.start, source.up);
    source.up = first + duration;
    const double arrives = first + model_.latency;
    target.arriving.emplace(std::pair(arrives, sent_++), Arrival{duration, std::move(chunk)});
    return {source.up, arrives};
  }
  /// Lets all chunks that reached the link of a rank's node by `now` pass it, in the order of
  /// arrival. No rank's clock may be behind `now` by more than the lookahead.
  void receive(int rank, double now) {
    Node& own = nodes_[node(rank)];
    while (!own.arriving.empty() && own.arriving.begin()->first.first <= now) {
      const auto& [key, arrival] = *own.arriving.begin();
      own.down = std::max(key.first, own.down) + arrival.duration;
      deliver(own.down, key.second, arrival.chunk);
      own.arriving.erase(own.arriving.begin());
    }
  }
  /// Returns the time at which the next chunk reaches the link of a rank's node, or kNever.
  double next_arrival(int rank) const {
    const Node& own = nodes_[node(rank)];
    return own.arriving.empty() ? VirtualTime::kNever : own.arriving.begin()->first.first;
  }
  /// Returns true while a chunk from `peer` is on its way to this inbox, which belongs to `rank`.
  bool has_in_flight(int rank, const Inbox& inbox, int peer) const {
    return std::ranges::any_of(nodes_[node(rank)].arriving, [&](const auto& entry) {
      return entry.second.chunk.inbox == &inbox && entry.second.chunk.peer == peer;
    });
  }
  /// Returns the lookahead of the simulation: a rank whose clock is behind by at most this much
  /// cannot send a chunk that should have arrived already.
  double lookahead() const {
    return model_.ranks_per_node > 1 ? std::min(model_.latency, kSharedLatency) : model_.latency;
  }
  /// Drops all chunks that are on their way between ranks of this group.
  void forget(const RankGroup& group) {
    for (Node& each : nodes_)
      std::erase_if(each.arriving,
                    [&](const auto& entry) { return entry.second.chunk.group == &group; });
  }
  const NetworkModel& model() const { return model_; }

 private:
  struct Arrival {
    double duration;  ///< the time that the chunk takes to pass the link
    Chunk chunk;
  };
  struct Node {
    double up = 0, down = 0;  ///< the times at which the two directions of the link are free again
    std::map<std::pair<double, uint64_t>, Arrival> arriving;  ///< by time of arrival, then number
  };
  size_t node(int rank) const { return static_cast<size_t>(rank / model_.ranks_per_node); }
  static void deliver(double due, uint64_t number, Chunk chunk) {
    if (chunk.bytes) chunk.inbox->messages.push({due, number, chunk.peer, std::move(chunk.bytes)});
  }

  const NetworkModel model_;
  std::vector<Node> nodes_;
  std::vector<double>
      copied_;         ///< by rank: the time at which the rank's last copy inside the node is done
  uint64_t sent_ = 0;  ///< chunks
};

}  // namespace sparsecoll::perf
