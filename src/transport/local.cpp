// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/local.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <thread>

#include "core/error.hpp"

namespace sparsecoll {

namespace {

/// The messages that one rank has not yet received.
struct Inbox {
  struct QueuedMessage {
    int peer;  ///< the sender
    bool handed_over;
    Buffer bytes;
    Clock::time_point due;  ///< it may be received from then on; in the future if a test delays it
  };
  Memory memory;
  Pool pool{memory};
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<QueuedMessage> messages;
  std::atomic<size_t> handed_over{0};  ///< bytes of those messages that were handed over
  std::atomic<size_t> events{0};       ///< counts new messages and peers that left
  bool interrupted = false;
};

/// The state that the ranks of one communicator share. It lives until the last of them is gone.
struct RankGroup {
  RankGroup(int ranks, FaultPlan faults, FaultPlan recovery_faults = {})
      : inboxes(ranks),
        gone(ranks),
        completed(ranks),
        joined(ranks),
        plan(std::move(faults)),
        recovery_plan(std::move(recovery_faults)),
        ranks_sharing_cpus(ranks),
        left_for_good(static_cast<size_t>(ranks)) {
    spins = static_cast<unsigned>(ranks) <= std::thread::hardware_concurrency();
  }
  /// A message that was handed over is of its sender's pool, so all messages are freed before the
  /// first pool.
  ~RankGroup() {
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
  /// Returns the group of the members of a split. The first member to ask makes it; after the last
  /// one has asked, the parent forgets it.
  static std::shared_ptr<RankGroup> join_split(const std::shared_ptr<RankGroup>& parent,
                                               std::span<const RankAddress> members, uint64_t id) {
    const std::lock_guard lock(parent->splits_mutex);
    const std::pair key{id, members.front().rank};
    PendingSplit& split = parent->splits[key];
    if (!split.group) {
      const auto fresh = std::make_shared<RankGroup>(static_cast<int>(members.size()), FaultPlan{});
      fresh->parent = parent;
      fresh->ranks_sharing_cpus = parent->ranks_sharing_cpus;
      for (const RankAddress& each : members) fresh->parent_ranks.push_back(each.rank);
      // Stored last, so that the next member can try again if this one runs out of memory.
      split.group = fresh;
    }
    std::shared_ptr<RankGroup> group = split.group;
    if (++split.joined == members.size()) parent->splits.erase(key);
    return group;
  }
  /// Returns the group in which the ranks of this one find each other after a failure.
  std::shared_ptr<RankGroup> recovery_group() {
    const std::lock_guard lock(splits_mutex);
    if (recovery) return recovery;
    const auto fresh = std::make_shared<RankGroup>(static_cast<int>(inboxes.size()), recovery_plan);
    fresh->ranks_sharing_cpus = ranks_sharing_cpus;
    for (size_t r = 0; r < left_for_good.size(); ++r) fresh->gone[r] = left_for_good[r];
    return recovery = fresh;
  }
  /// Called when a rank will not come to the recovery group unless it is there already.
  void leave_for_good(int rank) noexcept {
    const std::lock_guard lock(splits_mutex);
    left_for_good[static_cast<size_t>(rank)] = true;
    if (!recovery || recovery->gone[rank].exchange(true)) return;
    recovery->notify_all_but(rank);
  }
  /// Returns true if that rank has not joined this group and has left the parent, so that it never
  /// will.
  bool will_never_join(int rank) const {
    if (joined[rank] || parent_ranks.empty()) return false;
    const std::shared_ptr<RankGroup> from = parent.lock();
    const bool left = !from || from->gone[parent_ranks[static_cast<size_t>(rank)]];
    return left && !joined[rank];  // checked again, because it may have joined before it left
  }

  struct PendingSplit {
    std::shared_ptr<RankGroup> group;
    size_t joined = 0;  ///< number of members that have joined
  };
  std::vector<Inbox> inboxes;
  std::vector<std::atomic<bool>> gone;
  std::vector<std::atomic<uint64_t>> completed;  ///< number of the last completed call, plus 1
  std::vector<std::atomic<bool>> joined;
  FaultPlan plan, recovery_plan;
  int ranks_sharing_cpus;           ///< the ranks of the process; a split inherits the number
  bool spins;                       ///< true if every rank has a core of its own
  std::weak_ptr<RankGroup> parent;  ///< the group from which this one was split, or null
  std::vector<int> parent_ranks;    ///< the members' ranks in the parent
  std::mutex splits_mutex;
  std::map<std::pair<uint64_t, int>, PendingSplit> splits;  ///< by id and first member
  std::shared_ptr<RankGroup> recovery;                      ///< null: nobody has asked for it
  std::vector<bool> left_for_good;
};

class LocalTransport final : public Transport {
 public:
  LocalTransport(std::shared_ptr<RankGroup> group, int rank)
      : group_(std::move(group)), rank_(rank), inbox_(group_->inboxes[rank]) {
    group_->joined[rank] = true;
  }
  ~LocalTransport() override {
    leave();
    if (!killed_) group_->leave_for_good(rank_);
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(group_->inboxes.size()); }
  CpuShare cpu_share() const override {
    const auto ranks = static_cast<size_t>(group_->ranks_sharing_cpus);
    return {ranks, static_cast<size_t>(rank_) % ranks};
  }
  bool can_read_peers() const override { return true; }
  void check_thread() const override {}
  void check_queue() const override {}

  void send(int peer, ConstBytes bytes) override {
    open(peer, bytes.size());
    send_chunk(peer, bytes);
  }

  void open(int peer, const MessageLength& length) override {
    cancel(peer);
    if (group_->gone[peer]) return;
    const MessageFault fault = next_fault(peer);
    if (killed_ || fault.drop) return;
    open_.push_back({peer, group_->inboxes[peer].pool.take(length.bytes), 0, fault});
  }

  void send_chunk(int peer, ConstBytes chunk) override {
    const auto message = std::ranges::find(open_, peer, &OpenMessage::peer);
    if (message == open_.end()) return;
    std::copy(chunk.begin(), chunk.end(), message->bytes.data() + message->written);
    message->written += chunk.size();
    if (message->written < message->bytes.size()) return;
    deliver(peer, std::move(message->bytes), message->fault, false);
    open_.erase(message);
  }

  void hand_over(int peer, Buffer message) override {
    cancel(peer);
    if (group_->gone[peer]) return;
    const MessageFault fault = next_fault(peer);
    if (!killed_ && !fault.drop) deliver(peer, std::move(message), fault, true);
  }

  size_t unsent() override { return 0; }
  size_t unsent_handed_over() override { return 0; }
  size_t unsent_to(int) override { return 0; }
  size_t waiting_for(int peer) const override { return group_->inboxes[peer].handed_over; }

  std::optional<ReceivedMessage> poll() override {
    if (killed_) fail(sparsecollSystemError, "the fault plan of the test killed this rank");
    const size_t events = inbox_.events;
    if (events == seen_ && !look_again_) return std::nullopt;
    const std::lock_guard lock(inbox_.mutex);
    look_again_ = false;
    const auto now = Clock::now();
    for (auto each = inbox_.messages.begin(); each != inbox_.messages.end(); ++each) {
      if (each->due > now || overtakes(each)) {
        look_again_ = true;  // no event announces when the message is due
        continue;
      }
      ReceivedMessage received{each->peer, std::move(each->bytes)};
      if (each->handed_over) inbox_.handed_over -= received.bytes.capacity();
      inbox_.messages.erase(each);
      look_again_ = true;
      return received;
    }
    seen_ = inbox_.events;
    return std::nullopt;
  }

  bool gone(int peer) const override {
    if (!group_->gone[peer]) return group_->will_never_join(peer);
    if (!group_->plan) return true;
    const std::lock_guard lock(inbox_.mutex);  // a delayed message is still to be received
    return std::none_of(inbox_.messages.begin(), inbox_.messages.end(),
                        [peer](const auto& each) { return each.peer == peer; });
  }

  void set_completed(uint64_t call) override { group_->completed[rank_] = call + 1; }
  std::vector<int> gone_before(uint64_t call) const override {
    std::vector<int> peers;
    for (int peer = 0; peer < size(); ++peer)
      if (peer != rank_ && gone(peer) && group_->completed[peer] <= call) peers.push_back(peer);
    return peers;
  }

  void idle(Clock::time_point limit) override {
    if (look_again_) return std::this_thread::sleep_for(std::chrono::microseconds(50));
    if (group_->spins)
      for (int i = 0; i < 2000; ++i)
        if (inbox_.events != seen_) return;
    std::unique_lock lock(inbox_.mutex);
    inbox_.changed.wait_until(lock, limit,
                              [&] { return inbox_.events != seen_ || inbox_.interrupted; });
  }

  void interrupt() noexcept override {
    {
      const std::lock_guard lock(inbox_.mutex);
      inbox_.interrupted = true;
    }
    inbox_.changed.notify_all();
    leave();
  }

  uint64_t next_address() override { return 0; }  // members find each other in the group
  std::unique_ptr<Transport> split(std::span<const RankAddress> members, uint64_t id) override {
    if (members.empty()) return nullptr;
    const auto own = std::ranges::find(members, rank_, &RankAddress::rank);
    return std::make_unique<LocalTransport>(RankGroup::join_split(group_, members, id),
                                            static_cast<int>(own - members.begin()));
  }

  std::unique_ptr<Transport> recovery() override {
    return std::make_unique<LocalTransport>(group_->recovery_group(), rank_);
  }

  bool close_is_collective() const override { return false; }
  void close() override { leave(); }
  size_t abandon(bool* touches_caller) noexcept override {
    *touches_caller = false;
    leave();
    return 0;
  }
  Pool& pool() override { return inbox_.pool; }
  const Memory& memory() const override { return inbox_.memory; }

 private:
  /// A message whose chunks are still being written.
  struct OpenMessage {
    int peer;
    Buffer bytes;
    size_t written;
    MessageFault fault;
  };

  void cancel(int peer) {
    std::erase_if(open_, [peer](const OpenMessage& each) { return each.peer == peer; });
  }

  MessageFault next_fault(int peer) {
    const MessageFault fault = group_->plan ? group_->plan(rank_, peer, sent_++) : MessageFault{};
    if (fault.kill_sender) killed_ = true;
    return fault;
  }

  void deliver(int peer, Buffer message, const MessageFault& fault, bool handed_over) {
    if (fault.corrupt_byte != kAll)
      message.data()[fault.corrupt_byte % message.size()] ^= std::byte{0xff};
    Inbox& inbox = group_->inboxes[peer];
    {
      const std::lock_guard lock(inbox.mutex);
      if (handed_over) inbox.handed_over += message.capacity();
      inbox.messages.push_back(
          {rank_, handed_over, std::move(message), Clock::now() + fault.delay});
      ++inbox.events;
    }
    inbox.changed.notify_one();
  }

  /// Returns true if an earlier message of the same sender is still queued.
  bool overtakes(std::deque<Inbox::QueuedMessage>::iterator message) const {
    if (!group_->plan) return false;
    for (auto each = inbox_.messages.begin(); each != message; ++each)
      if (each->peer == message->peer) return true;
    return false;
  }

  /// Makes this rank gone for its peers. The peers of a killed rank are not notified; their
  /// deadlines pass.
  void leave() noexcept {
    if (killed_ || group_->gone[rank_].exchange(true)) return;
    group_->notify_all_but(rank_);
  }

  std::shared_ptr<RankGroup> group_;
  int rank_;
  Inbox& inbox_;
  std::vector<OpenMessage> open_;  ///< to one peer at most one, and only those that are delivered
  size_t sent_ = 0;
  size_t seen_ = 0;
  bool look_again_ = false;  ///< true if no event announces some of the queued messages
  std::atomic<bool> killed_{false};
};

}  // namespace

std::vector<std::unique_ptr<Transport>> make_local_transports(int ranks, const FaultPlan& plan,
                                                              const FaultPlan& recovery_plan) {
  auto group = std::make_shared<RankGroup>(ranks, plan, recovery_plan);
  std::vector<std::unique_ptr<Transport>> transports;
  for (int r = 0; r < ranks; ++r) transports.push_back(std::make_unique<LocalTransport>(group, r));
  return transports;
}

}  // namespace sparsecoll
