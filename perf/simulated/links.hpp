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
#include "simulated/turns.hpp"

namespace sparsecoll::perf {

struct Fabric;

/// What has come to one rank, or will at a time that is known.
struct Mailbox {
  struct Letter {
    double due;
    uint64_t number;  ///< of all letters: in the order of sending where they come at once
    int peer;
    std::shared_ptr<Buffer> bytes;
    bool operator>(const Letter& other) const {
      return std::pair(due, number) > std::pair(other.due, other.number);
    }
  };
  Memory memory;
  Pool pool{memory};
  std::priority_queue<Letter, std::vector<Letter>, std::greater<>> letters;
  bool gone = false;
};

/// The links of all nodes.
class Links {
 public:
  /// Bytes on their way, the last of a letter with it.
  struct Transfer {
    const Fabric* fabric;
    Mailbox* box;
    int peer;                       ///< who sent it
    std::shared_ptr<Buffer> bytes;  ///< null: more is to follow
  };

  Links(int ranks, const NetworkModel& model)
      : model_(model),
        nodes_(static_cast<size_t>(ranks / model.ranks_per_node + 1)),
        copied_(static_cast<size_t>(ranks)) {}

  struct Route {
    int from, to;
    double start;  ///< when it could be on the sender's link
  };
  struct Passage {
    double left;     ///< the last byte has left the sender's link
    double reaches;  ///< the first one comes to the receiver's
  };
  Passage send(const Route& route, size_t bytes, Transfer transfer) {
    Node &source = nodes_[node(route.from)], &target = nodes_[node(route.to)];
    const auto size = static_cast<double>(bytes);
    if (&source == &target) {
      double& left = copied_[static_cast<size_t>(route.from)];
      left = std::max(route.start, left) + kSharedByte * size;
      const double there = left + kSharedLatency;
      deliver(there, letters_++, std::move(transfer));
      return {left, there};
    }
    const double length = 8 * size / model_.rate, first = std::max(route.start, source.up);
    source.up = first + length;
    const double reaches = first + model_.latency;
    target.coming.emplace(std::pair(reaches, letters_++), std::pair(length, std::move(transfer)));
    return {source.up, reaches};
  }
  /// Lets what has reached a rank's link by `now` pass it, first come, first served. Everybody's
  /// clock is at least `now` less the latency.
  void receive(int rank, double now) {
    Node& own = nodes_[node(rank)];
    while (!own.coming.empty() && own.coming.begin()->first.first <= now) {
      const auto& [when, what] = *own.coming.begin();
      own.down = std::max(when.first, own.down) + what.first;
      deliver(own.down, when.second, what.second);
      own.coming.erase(own.coming.begin());
    }
  }
  /// When something reaches a rank's link next.
  double next(int rank) const {
    const Node& own = nodes_[node(rank)];
    return own.coming.empty() ? Turns::kNever : own.coming.begin()->first.first;
  }
  /// Whether something of that sender is on its way to that box, which is of this rank.
  bool carries(int rank, const Mailbox& box, int peer) const {
    return std::ranges::any_of(nodes_[node(rank)].coming, [&](const auto& entry) {
      return entry.second.second.box == &box && entry.second.second.peer == peer;
    });
  }
  /// Who is behind by no more than that cannot send what would have come by now.
  double lookahead() const {
    return model_.ranks_per_node > 1 ? std::min(model_.latency, kSharedLatency) : model_.latency;
  }
  void forget(const Fabric& fabric) {
    for (Node& each : nodes_)
      std::erase_if(each.coming,
                    [&](const auto& entry) { return entry.second.second.fabric == &fabric; });
  }
  const NetworkModel& model() const { return model_; }

 private:
  struct Node {
    double up = 0, down = 0;  ///< when the link is free again, each way
    /// By when they reach it, and number; with the time that they take to pass.
    std::map<std::pair<double, uint64_t>, std::pair<double, Transfer>> coming;
  };
  size_t node(int rank) const { return static_cast<size_t>(rank / model_.ranks_per_node); }
  static void deliver(double due, uint64_t number, Transfer transfer) {
    if (transfer.bytes)
      transfer.box->letters.push({due, number, transfer.peer, std::move(transfer.bytes)});
  }

  const NetworkModel model_;
  std::vector<Node> nodes_;
  std::vector<double> copied_;  ///< by rank: when it has put all into its node's memory
  uint64_t letters_ = 0;
};

}  // namespace sparsecoll::perf
