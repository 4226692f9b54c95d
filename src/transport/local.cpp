// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/local.hpp"

#include <algorithm>
#include <thread>

#include "core/error.hpp"
#include "transport/local_state.hpp"

namespace sparsecoll {

namespace {

/// A thread that waits spins for this time before it sleeps: to wake it up takes about 20 us.
constexpr std::chrono::microseconds kSpin{50};
/// How often it looks for messages before it reads the clock.
constexpr int kLooks = 500;

class LocalTransport final : public Transport {
 public:
  LocalTransport(std::shared_ptr<LocalState> state, int rank)
      : state_(std::move(state)), rank_(rank), inbox_(state_->inboxes[rank]) {
    open_.reserve(1);  // long messages may come late, and then nothing should be allocated
    state_->joined[rank] = true;
  }
  ~LocalTransport() override {
    leave();
    if (!killed_) state_->leave_for_good(rank_);
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(state_->inboxes.size()); }
  CpuShare cpu_share() const override {
    const auto ranks = static_cast<size_t>(state_->ranks_sharing_cpus);
    return {ranks, static_cast<size_t>(rank_) % ranks};
  }
  bool can_read_peers() const override { return true; }
  /// A fault plan stands for a network.
  bool shares_memory(int) const override { return !state_->plan; }
  void check_thread() const override {}
  void check_queue() const override {}

  void send(int peer, ConstBytes bytes) override {
    std::optional<OpenMessage> message = begin(peer, bytes.size());
    if (!message) return;
    std::copy(bytes.begin(), bytes.end(), message->bytes.data());
    deliver(peer, std::move(message->bytes), message->fault, false);
  }

  void open(int peer, const MessageLength& length) override {
    if (auto message = begin(peer, length.bytes)) open_.push_back(std::move(*message));
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
    if (state_->gone[peer]) return;
    const MessageFault fault = next_fault(peer);
    if (!killed_ && !fault.drop) deliver(peer, std::move(message), fault, true);
  }

  size_t unsent() override { return 0; }
  size_t unsent_handed_over() override { return 0; }
  size_t unsent_to(int) override { return 0; }
  size_t waiting_for(int peer) const override { return state_->inboxes[peer].handed_over; }

  std::optional<ReceivedMessage> poll() override {
    if (killed_) fail(sparsecollSystemError, "the fault plan of the test killed this rank");
    const size_t events = inbox_.events;
    if (events == seen_ && !look_again_) return std::nullopt;
    const std::lock_guard lock(inbox_.mutex);
    look_again_ = false;
    const auto now = state_->plan ? Clock::now() : Clock::time_point::max();
    for (auto each = inbox_.messages.begin(); each != inbox_.messages.end(); ++each) {
      if (each->due > now || overtakes(each)) {
        look_again_ = true;  // no event announces the time at which the message may be received
        continue;
      }
      ReceivedMessage received{each->peer, std::move(each->bytes)};
      if (each->handed_over) inbox_.handed_over -= received.bytes.capacity();
      inbox_.messages.erase(each);
      look_again_ = !inbox_.messages.empty();
      if (!look_again_) seen_ = inbox_.events;
      return received;
    }
    seen_ = inbox_.events;
    return std::nullopt;
  }

  bool gone(int peer) const override {
    if (!state_->gone[peer]) return state_->will_never_join(peer);
    if (!state_->plan) return true;
    const std::lock_guard lock(inbox_.mutex);  // a delayed message has not been received yet
    return std::none_of(inbox_.messages.begin(), inbox_.messages.end(),
                        [peer](const auto& each) { return each.peer == peer; });
  }

  void set_completed(uint64_t call) override { state_->completed[rank_] = call + 1; }
  std::vector<int> gone_before(uint64_t call) const override {
    std::vector<int> peers;
    for (int peer = 0; peer < size(); ++peer)
      if (peer != rank_ && gone(peer) && state_->completed[peer] <= call) peers.push_back(peer);
    return peers;
  }

  void idle(Clock::time_point limit) override {
    if (look_again_) return std::this_thread::sleep_for(std::chrono::microseconds(50));
    if (!crowded_) {
      const Clock::time_point end = std::min(limit, Clock::now() + kSpin);
      do {
        for (int look = 0; look < kLooks; ++look)
          if (inbox_.events != seen_) return;
      } while (Clock::now() < end);
    }
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

  /// Members of a split find each other in the state that their ranks share.
  uint64_t next_address() override { return 0; }
  std::unique_ptr<Transport> split(std::span<const RankAddress> members, uint64_t id) override {
    if (members.empty()) return nullptr;
    const auto own = std::ranges::find(members, rank_, &RankAddress::rank);
    return std::make_unique<LocalTransport>(LocalState::join_split(state_, members, id),
                                            static_cast<int>(own - members.begin()));
  }

  std::unique_ptr<Transport> recovery() override {
    return std::make_unique<LocalTransport>(state_->recovery_state(), rank_);
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

  /// Returns a message of this size that can be written; none if it would be lost.
  std::optional<OpenMessage> begin(int peer, size_t bytes) {
    cancel(peer);
    if (state_->gone[peer]) return std::nullopt;
    const MessageFault fault = next_fault(peer);
    if (killed_ || fault.drop) return std::nullopt;
    return OpenMessage{peer, state_->inboxes[peer].pool.take(bytes), 0, fault};
  }

  void cancel(int peer) {
    std::erase_if(open_, [peer](const OpenMessage& each) { return each.peer == peer; });
  }

  MessageFault next_fault(int peer) {
    const MessageFault fault = state_->plan ? state_->plan(rank_, peer, sent_++) : MessageFault{};
    if (fault.kill_sender) killed_ = true;
    return fault;
  }

  void deliver(int peer, Buffer message, const MessageFault& fault, bool handed_over) {
    if (fault.corrupt_byte != kAll)
      message.data()[fault.corrupt_byte % message.size()] ^= std::byte{0xff};
    // The clock is not read for every message: that would take longer than to copy a short one.
    const auto due =
        fault.delay.count() > 0 ? Clock::now() + fault.delay : Clock::time_point::min();
    Inbox& inbox = state_->inboxes[peer];
    {
      const std::lock_guard lock(inbox.mutex);
      if (handed_over) inbox.handed_over += message.capacity();
      inbox.messages.push_back({rank_, handed_over, std::move(message), due});
      ++inbox.events;
    }
    inbox.changed.notify_one();
  }

  /// Returns true if an earlier message of the same sender is still queued.
  bool overtakes(std::deque<Inbox::QueuedMessage>::iterator message) const {
    if (!state_->plan) return false;
    for (auto each = inbox_.messages.begin(); each != message; ++each)
      if (each->peer == message->peer) return true;
    return false;
  }

  /// Marks this rank as gone for its peers. The peers of a killed rank are not notified; they fail
  /// at their deadlines.
  void leave() noexcept {
    if (killed_ || state_->gone[rank_].exchange(true)) return;
    state_->notify_all_but(rank_);
  }

  std::shared_ptr<LocalState> state_;
  int rank_;
  Inbox& inbox_;
  std::vector<OpenMessage> open_;  ///< at most one to each peer; without messages that are lost
  size_t sent_ = 0;
  size_t seen_ = 0;
  const bool crowded_ = cpu_share().is_crowded();
  bool look_again_ = false;  ///< true if no event announces some of the queued messages
  std::atomic<bool> killed_{false};
};

}  // namespace

std::vector<std::unique_ptr<Transport>> make_local_transports(int ranks, const FaultPlan& plan,
                                                              const FaultPlan& recovery_plan) {
  auto state = std::make_shared<LocalState>(ranks, plan, recovery_plan);
  std::vector<std::unique_ptr<Transport>> transports;
  for (int r = 0; r < ranks; ++r) transports.push_back(std::make_unique<LocalTransport>(state, r));
  return transports;
}

}  // namespace sparsecoll
