// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "core/environment.hpp"
#include "core/error.hpp"
#include "core/machine.hpp"
#include "core/thread_placement.hpp"
#include "core/whole_number.hpp"
#include "transport/mpi_duplicate.hpp"
#include "transport/mpi_inbox.hpp"
#include "transport/mpi_outbox.hpp"

namespace sparsecoll {

namespace {

/// The default of MpiOptions::spin. A rank that sleeps earlier delays short exchanges: when it
/// wakes up, a scheduler that is busy may let it wait for several milliseconds.
constexpr std::chrono::milliseconds kSpin{5};
/// How often a rank that waits looks for messages before it yields its CPU or sleeps.
constexpr int kLooks = 20;
/// For how long it looks at most. Twenty looks can take a second on a busy machine: if there are
/// more ranks than CPUs, Open MPI yields the CPU in each look and gets it back after tens of
/// milliseconds. The caller would notice its deadline that much too late.
constexpr std::chrono::milliseconds kLooksEnd{1};

/// Returns how many processes the launcher started on this machine, or 0 if it does not say.
size_t count_processes() {
  for (const char* variable : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    const auto count = whole_number<size_t>(environment(variable).value_or(""));
    if (count) return *count;
  }
  return 0;
}

class MpiTransport final : public Transport {
 public:
  /// `peers`: the addresses of all ranks in the duplicate, by their rank in this transport.
  MpiTransport(std::shared_ptr<MpiDuplicate> duplicate, std::vector<MpiAddress> peers, int rank,
               const MpiOptions& options)
      : duplicate_(std::move(duplicate)),
        peers_(std::move(peers)),
        rank_(rank),
        options_(options),
        inbox_({duplicate_->comm(), own().tag}, ranks(), pool_),
        outbox_(*duplicate_, peers_, {options.max_message, eager_peers()}) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(peers_.size()); }
  int world_rank() const override { return duplicate_->world_rank(); }
  /// The launcher may have started more processes than this communicator has ranks. They share the
  /// CPUs, too, unless this process is bound to some of them.
  CpuShare cpu_share() const override {
    CpuShare share = duplicate_->cpu_share();
    if (has_all_cpus()) share.ranks = std::max(share.ranks, count_processes());
    return share;
  }

  uint64_t node() const override { return node_number(); }
  bool can_read_peers() const override { return true; }
  bool shares_memory(int peer) const override {
    return !duplicate_->is_on_other_node(peers_[static_cast<size_t>(peer)].rank);
  }

  void check_thread() const override { check_mpi_caller(); }
  void check_queue() const override {
    int level = MPI_THREAD_SINGLE;
    check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
    if (level < MPI_THREAD_MULTIPLE)
      fail(sparsecollInvalidUsage,
           "config.blocking = 0: expected MPI_THREAD_MULTIPLE, got a lower thread level");
  }

  void send(int peer, ConstBytes bytes) override {
    waits_since_.reset();
    outbox_.send(peer, bytes, nullptr);
  }
  void open(int peer, const MessageLength& length) override { outbox_.open(peer, length, nullptr); }
  void send_chunk(int peer, ConstBytes part) override {
    waits_since_.reset();
    outbox_.send_chunk(peer, part, nullptr);
  }
  void hand_over(int peer, Buffer message) override {
    waits_since_.reset();
    const auto owner = std::make_shared<Buffer>(std::move(message));
    outbox_.send(peer, {owner->data(), owner->size()}, owner);
  }

  size_t unsent() override {
    outbox_.progress();
    return outbox_.unsent();
  }
  size_t unsent_handed_over() override {
    outbox_.progress();
    return outbox_.unsent_handed_over();
  }
  size_t unsent_to(int peer) override { return outbox_.unsent_to(peer); }
  size_t waiting_for(int peer) const override { return outbox_.handed_over_to(peer); }

  std::optional<ReceivedMessage> poll() override {
    outbox_.progress();
    auto message = inbox_.poll();
    if (message) waits_since_.reset();
    return message;
  }

  bool gone(int peer) const override {
    return duplicate_->has_failed(peers_[static_cast<size_t>(peer)].rank);
  }
  bool any_gone() const override { return duplicate_->any_failed(); }

  /// MPI moves messages only inside its calls, and wakes nobody up. So a rank that waits polls. If
  /// nothing has moved for a while it sleeps between the polls, so that ranks that compute get its
  /// CPU: for a sixteenth of the time that it has waited, and for 20 to 500 us.
  void idle(Clock::time_point limit) override {
    using std::chrono::microseconds;
    Clock::time_point now = Clock::now();
    const Clock::time_point end = std::min(limit, now + kLooksEnd);
    for (int look = 0; look < kLooks; ++look) {
      if (inbox_.look()) return;
      now = Clock::now();
      if (now >= end) break;
    }
    if (!waits_since_ || outbox_.unsent() + outbox_.unsent_handed_over() > 0 ||
        inbox_.is_receiving())
      waits_since_ = now;
    const Clock::duration waited = now - *waits_since_;
    if (waited < spin_) {
      sched_yield();
      return;
    }
    const Clock::duration pause =
        std::clamp<Clock::duration>(waited / 16, microseconds(20), microseconds(500));
    std::this_thread::sleep_until(std::min(limit, now + pause));
  }
  void interrupt() noexcept override {}

  uint64_t next_address() override {
    if (!next_tag_) next_tag_ = duplicate_->acquire_tag();
    return static_cast<uint64_t>(*next_tag_);
  }

  std::unique_ptr<Transport> split(std::span<const RankAddress> members, uint64_t) override {
    if (members.empty()) return nullptr;  // the next split can use next_address()
    std::vector<MpiAddress> peers;
    for (const RankAddress& each : members) {
      if (each.address > static_cast<uint64_t>(duplicate_->highest_tag()))
        fail(sparsecollRemoteError, "rank ", each.rank, " sent a tag of ", each.address,
             ", expected at most ", duplicate_->highest_tag());
      peers.push_back(
          {peers_[static_cast<size_t>(each.rank)].rank, static_cast<int>(each.address)});
    }
    const auto self = std::ranges::find(members, rank_, &RankAddress::rank);
    auto made = std::make_unique<MpiTransport>(duplicate_, std::move(peers),
                                               static_cast<int>(self - members.begin()), options_);
    next_tag_.reset();
    return made;
  }

  std::unique_ptr<Transport> recovery() override {
    std::vector<MpiAddress> peers = peers_;
    for (MpiAddress& each : peers) each.tag = MpiDuplicate::recovery_tag(each.tag);
    return std::make_unique<MpiTransport>(duplicate_, std::move(peers), rank_, options_);
  }

  bool close_is_collective() const override { return true; }
  void close() override {
    if (next_tag_) duplicate_->release_tag(*next_tag_);
    if (!MpiDuplicate::is_recovery_tag(own().tag)) duplicate_->release_tag(own().tag);
  }

  size_t abandon(bool* touches_caller) noexcept override {
    // The duplicate is never freed, because its requests cannot be cancelled.
    *touches_caller = outbox_.unsent() > 0;
    return inbox_.abandon() + outbox_.abandon();
  }
  bool takes_device_memory() const override { return *options_.device_memory; }
  void set_device_memory(std::shared_ptr<Memory> device) override {
    if (*options_.device_memory) inbox_.set_device_memory(std::move(device));
  }

  Pool& pool() override { return pool_; }
  const Memory& memory() const override { return memory_; }

 private:
  MpiAddress own() const { return peers_[static_cast<size_t>(rank_)]; }
  std::vector<int> ranks() const {
    std::vector<int> ranks;
    for (const MpiAddress& each : peers_) ranks.push_back(each.rank);
    return ranks;
  }
  std::vector<bool> eager_peers() const {
    std::vector<bool> eager;
    for (const MpiAddress& each : peers_)
      eager.push_back(options_.eager.value_or(duplicate_->is_on_other_node(each.rank)));
    return eager;
  }

  std::shared_ptr<MpiDuplicate> duplicate_;
  std::vector<MpiAddress> peers_;
  int rank_;
  const MpiOptions options_;
  const std::chrono::microseconds spin_ = options_.spin.value_or(kSpin);
  std::optional<Clock::time_point> waits_since_;  ///< none: something has moved since idle()
  std::optional<int> next_tag_;                   ///< receives the messages of the next split
  Memory memory_;
  Pool pool_{memory_};
  MpiInbox inbox_;
  MpiOutbox outbox_;
};

}  // namespace

std::unique_ptr<Transport> make_mpi_transport(MPI_Comm mpi, const Deadline& deadline,
                                              const MpiOptions& options) {
  check_mpi_caller();
  if (mpi == MPI_COMM_NULL)
    fail(sparsecollInvalidArgument, "mpi: expected a communicator, got MPI_COMM_NULL");
  int between_groups = 0;
  check_mpi(MPI_Comm_test_inter(mpi, &between_groups), "MPI_Comm_test_inter");
  if (between_groups)
    fail(sparsecollInvalidArgument, "mpi: expected an intracommunicator, got an intercommunicator");
  int rank = 0, size = 1;
  check_mpi(MPI_Comm_rank(mpi, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(mpi, &size), "MPI_Comm_size");
  std::vector<MpiAddress> peers;
  for (int peer = 0; peer < size; ++peer) peers.push_back({peer, MpiDuplicate::kFirstTag});
  MpiOptions decided = options;
  if (!decided.device_memory) decided.device_memory = mpi_is_cuda_aware();
  return std::make_unique<MpiTransport>(std::make_shared<MpiDuplicate>(mpi, deadline),
                                        std::move(peers), rank, decided);
}

}  // namespace sparsecoll
