// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "simulated/network.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "simulated/links.hpp"

namespace sparsecoll::perf {

/// The state that the ranks of one communicator share. It lives until the last of them is gone.
struct RankGroup {
  RankGroup(VirtualTime& virtual_time, std::shared_ptr<Links> all_links, std::vector<int> members)
      : time(virtual_time),
        links(std::move(all_links)),
        ranks(std::move(members)),
        inboxes(ranks.size()) {}
  ~RankGroup() {
    links->forget(*this);
    // Frees all messages before any pool, because a message may belong to another rank's pool.
    for (Inbox& inbox : inboxes) inbox.messages = {};
  }
  VirtualTime& time;
  std::shared_ptr<Links> links;
  std::vector<int> ranks;  ///< the ranks' numbers in the simulation
  std::deque<Inbox> inboxes;
  size_t closed = 0;  ///< ranks that have left
  std::map<std::pair<uint64_t, int>, std::weak_ptr<RankGroup>> splits;
};

namespace {

class SimulatedTransport final : public Transport {
 public:
  SimulatedTransport(std::shared_ptr<RankGroup> group, int rank)
      : group_(std::move(group)),
        time_(group_->time),
        rank_(rank),
        inbox_(group_->inboxes[static_cast<size_t>(rank)]),
        open_messages_(group_->inboxes.size()) {}
  ~SimulatedTransport() override { close(); }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(group_->inboxes.size()); }
  uint64_t node() const override { return static_cast<uint64_t>(own() / model().ranks_per_node); }
  void check_thread() const override {}
  void check_queue() const override {
    fail(sparsecollInvalidUsage, "config.blocking: expected 1 in a simulation, got 0");
  }

  void send(int peer, ConstBytes bytes) override {
    open(peer, bytes.size());
    send_chunk(peer, bytes);
  }
  void open(int peer, const MessageLength& length) override {
    open_messages_[static_cast<size_t>(peer)] = {
        std::make_shared<Buffer>(inbox(peer).pool.take(length.bytes)), 0};
    time_.advance(own(), model().overhead);
  }
  void send_chunk(int peer, ConstBytes part) override {
    OpenMessage& message = open_messages_[static_cast<size_t>(peer)];
    std::copy(part.begin(), part.end(), message.bytes->data() + message.filled);
    message.filled += part.size();
    const bool last = message.filled == message.bytes->size();
    send_on_link(peer, part.size(), last ? std::move(message.bytes) : nullptr);
  }
  void hand_over(int peer, Buffer message) override {
    time_.advance(own(), model().overhead);
    const size_t bytes = message.size();
    send_on_link(peer, bytes, std::make_shared<Buffer>(std::move(message)));
  }
  /// Returns 1 until the last byte has left the link. The caller's bytes are copied at once, but a
  /// real transport would still need them.
  size_t unsent() override {
    waits_for_link_ = time_.now(own()) < left_;
    return waits_for_link_ ? 1 : 0;
  }
  size_t unsent_handed_over() override { return unsent(); }
  size_t unsent_to(int) override { return unsent(); }

  std::optional<ReceivedMessage> poll() override {
    const double now = time_.let_others_catch_up(own(), group_->links->lookahead());
    group_->links->receive(own(), now);
    if (inbox_.messages.empty() || inbox_.messages.top().due > now) return std::nullopt;
    const Inbox::QueuedMessage message = inbox_.messages.top();
    inbox_.messages.pop();
    time_.advance(own(), overhead(message.bytes->size()));
    return ReceivedMessage{message.peer, std::move(*message.bytes)};
  }
  bool gone(int peer) const override {
    return group_->inboxes[static_cast<size_t>(peer)].gone && inbox_.messages.empty() &&
           !group_->links->has_in_flight(own(), inbox_, peer);
  }
  bool any_gone() const override { return group_->closed > 0; }
  /// Ignores the deadline, which is a real time.
  void idle(Clock::time_point) override {
    if (std::exchange(seen_closed_, group_->closed) != group_->closed) return;  // the caller polls
    const double now = time_.now(own());
    double until = group_->links->next_arrival(own());
    if (!inbox_.messages.empty()) until = std::min(until, inbox_.messages.top().due);
    // A rank that waits in unsent() continues when its last byte has left.
    if (std::exchange(waits_for_link_, false)) until = std::min(until, left_);
    if (until > now) time_.sleep(own(), until);
  }
  double seconds() const override { return time_.now(own()); }
  void interrupt() noexcept override {}

  uint64_t next_address() override { return 0; }  // members of a split meet in RankGroup::splits
  std::unique_ptr<Transport> split(std::span<const RankAddress> members, uint64_t id) override {
    if (members.empty()) return nullptr;
    std::weak_ptr<RankGroup>& known = group_->splits[{id, members.front().rank}];
    std::shared_ptr<RankGroup> group = known.lock();
    if (!group) {
      std::vector<int> ranks;
      for (const RankAddress& each : members)
        ranks.push_back(group_->ranks[static_cast<size_t>(each.rank)]);
      known = group = std::make_shared<RankGroup>(time_, group_->links, std::move(ranks));
    }
    const auto self = std::ranges::find(members, rank_, &RankAddress::rank);
    return std::make_unique<SimulatedTransport>(group, static_cast<int>(self - members.begin()));
  }
  bool close_is_collective() const override { return false; }
  void close() override {
    if (std::exchange(inbox_.gone, true)) return;
    ++group_->closed;
    const double noticed = time_.now(own()) + model().latency;
    for (const int rank : group_->ranks) time_.wake(rank, noticed);
  }
  size_t abandon(bool* touches_caller) noexcept override {
    *touches_caller = false;
    return 0;
  }
  Pool& pool() override { return inbox_.pool; }
  const Memory& memory() const override { return inbox_.memory; }

 private:
  /// A message some of whose chunks are still missing.
  struct OpenMessage {
    std::shared_ptr<Buffer> bytes;
    size_t filled = 0;
  };

  /// Returns this rank's number in the simulation.
  int own() const { return group_->ranks[static_cast<size_t>(rank_)]; }
  Inbox& inbox(int peer) { return group_->inboxes[static_cast<size_t>(peer)]; }
  const NetworkModel& model() const { return group_->links->model(); }
  double overhead(size_t bytes) const {
    return model().overhead + model().byte_overhead * static_cast<double>(bytes);
  }

  /// Charges this rank for the bytes, sends them, and wakes the receiver. `message` is null if more
  /// chunks follow.
  void send_on_link(int peer, size_t bytes, std::shared_ptr<Buffer> message) {
    time_.advance(own(), model().byte_overhead * static_cast<double>(bytes));
    const double now = time_.let_others_catch_up(own(), 0);
    const int to = group_->ranks[static_cast<size_t>(peer)];
    const Links::SendTimes times = group_->links->send(
        {own(), to, now}, bytes, {group_.get(), &inbox(peer), rank_, std::move(message)});
    left_ = std::max(left_, times.left);
    time_.wake(to, times.arrives);
  }

  std::shared_ptr<RankGroup> group_;
  VirtualTime& time_;
  int rank_;
  Inbox& inbox_;
  std::vector<OpenMessage> open_messages_;  ///< by peer
  double left_ = 0;                         ///< the time at which the last byte leaves the link
  bool waits_for_link_ = false;             ///< whether the last unsent() returned 1
  size_t seen_closed_ = 0;                  ///< RankGroup::closed at the last idle()
};

}  // namespace

std::vector<std::unique_ptr<Transport>> make_simulated_transports(VirtualTime& time, int ranks,
                                                                  const NetworkModel& model) {
  std::vector<int> members;
  for (int rank = 0; rank < ranks; ++rank) members.push_back(rank);
  const auto group =
      std::make_shared<RankGroup>(time, std::make_shared<Links>(ranks, model), std::move(members));
  std::vector<std::unique_ptr<Transport>> transports;
  for (int rank = 0; rank < ranks; ++rank)
    transports.push_back(std::make_unique<SimulatedTransport>(group, rank));
  return transports;
}

}  // namespace sparsecoll::perf
