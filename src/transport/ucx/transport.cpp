// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/transport.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "core/error.hpp"
#include "core/machine.hpp"
#include "core/thread_pool.hpp"
#include "transport/ucx/worker.hpp"

namespace sparsecoll {

namespace {

using ucx::Mailbox;
using ucx::MessageHeader;
using ucx::Path;
using ucx::Worker;

constexpr std::chrono::microseconds kSpin{50};
/// How often a rank that waits looks for messages before it reads the clock.
constexpr int kLooks = 16;
/// The time for which close() waits for data that UCX has not sent yet, and abandon() for a last
/// notice. It is short, because a call gives up after its deadline, which it may miss by 50 ms.
constexpr auto kClose = std::chrono::seconds(5);
constexpr auto kNotice = std::chrono::milliseconds(30);

/// A rank of the communicator.
struct Member {
  int rank;          ///< the rank's number in the worker
  uint64_t mailbox;  ///< the address of the rank's mailbox
};

class UcxTransport final : public Transport {
 public:
  UcxTransport(std::shared_ptr<Worker> worker, std::shared_ptr<Mailbox> mailbox,
               std::vector<Member> members, const UcxRank& own, Path path = Path::shortest)
      : worker_(std::move(worker)),
        mailbox_(std::move(mailbox)),
        members_(std::move(members)),
        own_(own),
        path_(path),
        outgoing_(members_.size()) {}
  ~UcxTransport() override { leave_for_good(); }

  int rank() const override { return own_.rank; }
  int size() const override { return own_.ranks; }
  int world_rank() const override { return worker_->rank(); }
  CpuShare cpu_share() const override {
    return share_cpus(worker_->locations(), static_cast<size_t>(worker_->rank()));
  }
  uint64_t node() const override { return node_number(); }
  bool can_read_peers() const override { return true; }
  bool shares_memory(int peer) const override {
    const std::vector<RankLocation>& all = worker_->locations();
    return all[static_cast<size_t>(members_[static_cast<size_t>(peer)].rank)].node ==
           all[static_cast<size_t>(worker_->rank())].node;
  }
  void check_thread() const override {}
  void check_queue() const override {}

  void send(int peer, ConstBytes bytes) override {
    open(peer, bytes.size());
    if (!bytes.empty()) send_chunk(peer, bytes);
  }
  void open(int peer, const MessageLength& length) override {
    const std::lock_guard lock(worker_->mutex());
    begin(peer, length.bytes);
    if (length.bytes == 0) transmit(peer, {}, {});
  }
  void send_chunk(int peer, ConstBytes chunk) override {
    const std::lock_guard lock(worker_->mutex());
    transmit(peer, chunk, {});
  }
  void hand_over(int peer, Buffer message) override {
    const std::lock_guard lock(worker_->mutex());
    begin(peer, message.size());
    const auto owner = std::make_shared<const Buffer>(std::move(message));
    transmit(peer, {owner->data(), owner->size()}, owner);
  }

  size_t unsent() override { return unsent(&Mailbox::unsent); }
  size_t unsent_handed_over() override { return unsent(&Mailbox::unsent_handed_over); }
  size_t unsent_to(int peer) override {
    const std::lock_guard lock(worker_->mutex());
    return mailbox_->unsent_to[static_cast<size_t>(peer)];
  }
  size_t waiting_for(int peer) const override {
    const std::lock_guard lock(worker_->mutex());
    return mailbox_->handed_over_to[static_cast<size_t>(peer)];
  }

  std::optional<ReceivedMessage> poll() override {
    const std::lock_guard lock(worker_->mutex());
    seen_ = mailbox_->events();
    if (auto earlier = mailbox_->take()) return earlier;
    worker_->poll();
    mailbox_->check();
    seen_ = mailbox_->events();
    auto next = mailbox_->take();
    if (!next && path_ == Path::shortest) check_arrival();
    return next;
  }

  void idle(Clock::time_point limit) override {
    const Clock::time_point end = std::min(limit, Clock::now() + spin());
    do {
      if (interrupted_) return;
      {
        const std::lock_guard lock(worker_->mutex());
        for (int look = 0; look < kLooks; ++look) {
          worker_->poll();
          if (mailbox_->events() != seen_) return;
        }
        worker_->look_for_dead();
      }
      if (crowded_) sched_yield();
    } while (Clock::now() < end);
    if (end < limit) worker_->sleep(*mailbox_, seen_, limit, interrupted_);
  }

  bool gone(int peer) const override {
    const std::lock_guard lock(worker_->mutex());
    return worker_->failed(members_[static_cast<size_t>(peer)].rank);
  }

  void interrupt() noexcept override {
    interrupted_ = true;
    mailbox_->wake();
  }

  uint64_t next_address() override {
    const std::lock_guard lock(worker_->mutex());
    if (!next_) next_ = worker_->new_mailbox();
    return next_->address();
  }

  std::unique_ptr<Transport> split(std::span<const RankAddress> members, uint64_t) override {
    if (members.empty()) return nullptr;  // the next split can use next_address()
    std::vector<Member> chosen;
    for (const RankAddress& each : members)
      chosen.push_back({members_[static_cast<size_t>(each.rank)].rank, each.address});
    const auto self = std::ranges::find(members, own_.rank, &RankAddress::rank);
    const UcxRank own{static_cast<int>(self - members.begin()), static_cast<int>(members.size()),
                      own_.spin};
    return std::make_unique<UcxTransport>(worker_, std::exchange(next_, nullptr), std::move(chosen),
                                          own, path_);
  }

  std::unique_ptr<Transport> recovery() override {
    std::shared_ptr<Mailbox> mailbox;
    {
      const std::lock_guard lock(worker_->mutex());
      mailbox = worker_->recovery_of(*mailbox_);
    }
    if (!mailbox) return nullptr;
    std::vector<Member> members = members_;
    for (Member& each : members) each.mailbox = Mailbox::recovery_address(each.mailbox);
    auto made =
        std::make_unique<UcxTransport>(worker_, mailbox, std::move(members), own_, Path::network);
    recovers_ = true;
    return made;
  }

  bool close_is_collective() const override { return true; }
  void close() override {
    {
      const std::lock_guard lock(worker_->mutex());
      worker_->flush(ranks(), path_, Clock::now() + kClose);
    }
    leave_for_good();
  }
  size_t abandon(bool* touches_caller) noexcept override {
    *touches_caller = false;
    try {
      const std::lock_guard lock(worker_->mutex());
      worker_->flush(ranks(), path_, Clock::now() + kNotice);
    } catch (const std::exception&) {
      // A peer without a notice sees the end of the connection.
    }
    leave();  // The connections stay for recovery().
    const std::lock_guard lock(worker_->mutex());
    *touches_caller = mailbox_->unsent > 0;
    return mailbox_->unsent_handed_over;
  }

  Pool& pool() override { return mailbox_->pool(); }
  const Memory& memory() const override { return mailbox_->memory(); }

 private:
  using Owner = std::shared_ptr<const Buffer>;

  /// The message that is being sent to a peer.
  struct Open {
    uint64_t number = 0;  ///< number of the open message, or of the next one if left = 0
    size_t bytes = 0;
    size_t left = 0;  ///< bytes of the open message that were not yet passed to send_chunk()
  };

  std::chrono::microseconds spin() const {
    return own_.spin.value_or(crowded_ ? std::chrono::microseconds(0) : kSpin);
  }
  std::vector<int> ranks() const {
    std::vector<int> ranks;
    for (const Member& each : members_)
      if (each.rank != worker_->rank()) ranks.push_back(each.rank);
    return ranks;
  }
  size_t unsent(size_t Mailbox::*counter) {
    const std::lock_guard lock(worker_->mutex());
    if ((*mailbox_).*counter > 0) worker_->progress();
    return (*mailbox_).*counter;
  }

  MessageHeader header(int peer, const Open& message, uint32_t cancels) const {
    return {members_[static_cast<size_t>(peer)].mailbox,
            message.number,
            message.bytes,
            message.bytes - message.left,
            static_cast<uint32_t>(own_.rank),
            cancels};
  }
  void pass_on(int peer, const MessageHeader& header, ConstBytes bytes, const Owner& owner) {
    worker_->send(mailbox_,
                  {peer, members_[static_cast<size_t>(peer)].rank, header, bytes, path_, owner});
  }
  void begin(int peer, size_t bytes) {
    Open& open = outgoing_[static_cast<size_t>(peer)];
    if (open.left > 0) {
      pass_on(peer, header(peer, open, 1), {}, {});
      ++open.number;
    }
    open.bytes = open.left = bytes;
  }
  void transmit(int peer, ConstBytes chunk, const Owner& owner) {
    Open& open = outgoing_[static_cast<size_t>(peer)];
    const MessageHeader own = header(peer, open, 0);
    open.left -= chunk.size();
    if (open.left == 0) ++open.number;
    pass_on(peer, own, chunk, owner);
  }

  /// Throws RemoteError if messages through shared memory do not arrive any more.
  void check_arrival() const {
    const std::optional<int> dead = worker_->blocked_by();
    if (!dead) return;
    const auto member = std::ranges::find(members_, *dead, &Member::rank);
    const std::string name = member != members_.end()
                                 ? text("rank ", member - members_.begin())
                                 : text("a process that is not of this communicator, rank ", *dead,
                                        " of the first one,");
    fail(sparsecollRemoteError, name,
         " has failed while it sent to this rank, which cannot receive from other ranks of this "
         "machine any more");
  }

  /// Stops receiving, except for the transport of recovery().
  void leave() noexcept {
    if (std::exchange(left_, true)) return;
    const std::lock_guard lock(worker_->mutex());
    if (next_) retire_recovery_of(*next_);
    if (next_) worker_->retire(next_);
    worker_->retire(mailbox_);
  }
  /// Leaves the worker. The last transport that does so ends its connections.
  void leave_for_good() noexcept {
    leave();
    const std::lock_guard lock(worker_->mutex());
    if (!recovers_) retire_recovery_of(*mailbox_);
  }
  void retire_recovery_of(const Mailbox& mailbox) noexcept {
    if (const auto recovery = worker_->recovery_of(mailbox)) worker_->retire(recovery);
  }

  std::shared_ptr<Worker> worker_;
  std::shared_ptr<Mailbox> mailbox_;
  std::vector<Member> members_;  ///< by rank
  const UcxRank own_;
  const Path path_;
  std::shared_ptr<Mailbox> next_;  ///< receives the messages of the next split
  std::vector<Open> outgoing_;     ///< by peer
  uint64_t seen_ = 0;              ///< Mailbox::events() at the last poll()
  const bool crowded_ = cpu_share().is_crowded();
  bool left_ = false;
  bool recovers_ = false;  ///< recovery() has made a transport, which leaves by itself
  std::atomic<bool> interrupted_{false};
};

}  // namespace

std::unique_ptr<Transport> make_ucx_transport(const UcxRank& own, Bootstrap& bootstrap,
                                              const Deadline& deadline) {
  const auto worker =
      std::make_shared<Worker>(own.rank, static_cast<size_t>(own.ranks), bootstrap, deadline);
  const std::lock_guard lock(worker->mutex());
  const std::shared_ptr<Mailbox> mailbox = worker->first_mailbox();
  std::vector<Member> members;
  for (int rank = 0; rank < own.ranks; ++rank) members.push_back({rank, mailbox->address()});
  return std::make_unique<UcxTransport>(worker, mailbox, std::move(members), own);
}

}  // namespace sparsecoll
