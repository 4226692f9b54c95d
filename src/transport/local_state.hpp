// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "transport/local.hpp"

namespace sparsecoll {

/// The messages that one rank has not yet received.
struct Inbox {
  struct QueuedMessage {
    int peer;          ///< the sender
    bool handed_over;  ///< the message's memory belongs to the sender's pool
    Buffer bytes;
    Clock::time_point due;  ///< the time from which it may be received; the least time unless a
                            ///< test delays it
  };
  Memory memory;
  Pool pool{memory};
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<QueuedMessage> messages;
  std::atomic<size_t> handed_over{0};  ///< bytes of the messages that were handed over
  std::atomic<size_t> events{0};       ///< counts new messages and peers that left
  bool interrupted = false;
};

/// The state that the ranks of one communicator share. It lives until the last of them is gone.
struct LocalState {
  LocalState(int ranks, FaultPlan faults, FaultPlan recovery_faults = {})
      : inboxes(ranks),
        gone(ranks),
        completed(ranks),
        joined(ranks),
        plan(std::move(faults)),
        recovery_plan(std::move(recovery_faults)),
        ranks_sharing_cpus(ranks),
        left_for_good(static_cast<size_t>(ranks)) {}
  /// Frees all messages before any pool, because a message that was handed over belongs to its
  /// sender's pool.
  ~LocalState() {
    for (Inbox& inbox : inboxes) inbox.messages.clear();
  }
  void notify_all_but(int rank) {
    for (size_t r = 0; r < inboxes.size(); ++r)
      if (static_cast<int>(r) != rank) notify(inboxes[r]);
  }
  static void notify(Inbox& inbox) {
    {
      const std::lock_guard lock(inbox.mutex);
      ++inbox.events;
    }
    inbox.changed.notify_all();
  }
  /// Returns the state of the members of a split. The first member that calls it creates the state;
  /// after the last member has called it, the parent drops it.
  static std::shared_ptr<LocalState> join_split(const std::shared_ptr<LocalState>& parent,
                                                std::span<const RankAddress> members, uint64_t id) {
    const std::lock_guard lock(parent->splits_mutex);
    const std::pair key{id, members.front().rank};
    PendingSplit& split = parent->splits[key];
    if (!split.state) {
      const auto fresh =
          std::make_shared<LocalState>(static_cast<int>(members.size()), FaultPlan{});
      fresh->parent = parent;
      fresh->ranks_sharing_cpus = parent->ranks_sharing_cpus;
      for (const RankAddress& each : members) fresh->parent_ranks.push_back(each.rank);
      // The state is stored last, so that the next member can try again if this one runs out of
      // memory.
      split.state = fresh;
    }
    std::shared_ptr<LocalState> state = split.state;
    if (++split.joined == members.size()) parent->splits.erase(key);
    return state;
  }
  /// Returns the state by which the ranks of this one find each other after a failure.
  std::shared_ptr<LocalState> recovery_state() {
    const std::lock_guard lock(splits_mutex);
    if (recovery) return recovery;
    const auto fresh =
        std::make_shared<LocalState>(static_cast<int>(inboxes.size()), recovery_plan);
    fresh->ranks_sharing_cpus = ranks_sharing_cpus;
    for (size_t r = 0; r < left_for_good.size(); ++r) fresh->gone[r] = left_for_good[r];
    return recovery = fresh;
  }
  /// Called when a rank leaves for good: it will not create a recovery state any more.
  void leave_for_good(int rank) noexcept {
    const std::lock_guard lock(splits_mutex);
    left_for_good[static_cast<size_t>(rank)] = true;
    if (!recovery || recovery->gone[rank].exchange(true)) return;
    recovery->notify_all_but(rank);
  }
  /// Returns true if a rank will never join this communicator, because it left the parent before it
  /// joined.
  bool will_never_join(int rank) const {
    if (joined[rank] || parent_ranks.empty()) return false;
    const std::shared_ptr<LocalState> from = parent.lock();
    const bool left = !from || from->gone[parent_ranks[static_cast<size_t>(rank)]];
    return left && !joined[rank];  // checked again, because the rank may have joined before it left
  }

  struct PendingSplit {
    std::shared_ptr<LocalState> state;
    size_t joined = 0;  ///< number of members that have joined
  };
  std::vector<Inbox> inboxes;
  std::vector<std::atomic<bool>> gone;           ///< by rank: the rank has ended, or will never
                                                 ///< join
  std::vector<std::atomic<uint64_t>> completed;  ///< number of the last completed call, plus 1
  std::vector<std::atomic<bool>> joined;         ///< by rank: the rank has made its transport here
  FaultPlan plan, recovery_plan;
  int ranks_sharing_cpus;            ///< the ranks of the process; a split inherits the number
  std::weak_ptr<LocalState> parent;  ///< the state of the communicator that was split, or null
  std::vector<int> parent_ranks;     ///< the members' ranks in the parent
  std::mutex splits_mutex;
  std::map<std::pair<uint64_t, int>, PendingSplit> splits;  ///< by id and first member
  std::shared_ptr<LocalState> recovery;                     ///< null: no rank has asked for it
  std::vector<bool> left_for_good;  ///< by rank: leave_for_good() was called
};

}  // namespace sparsecoll
