// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <utility>
#include <vector>

#include "core/environment.hpp"
#include "core/error.hpp"
#include "core/machine.hpp"
#include "core/thread_pool.hpp"
#include "transport/mpi_inbox.hpp"
#include "transport/mpi_share.hpp"

namespace sparsecoll {

namespace {

/// Processes on this machine, which launchers tell; 0 where they do not.
int count_processes() {
  for (const char* variable : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    const std::string told = environment(variable).value_or("");
    int value = 0;
    if (std::from_chars(told.data(), told.data() + told.size(), value).ec == std::errc())
      return std::max(value, 0);
  }
  return 0;
}

class MpiTransport final : public Transport {
 public:
  /// Where peers are reached in the shared duplicate, by their rank here.
  struct Peer {
    int rank;
    int tag;  ///< under which it receives
  };

  MpiTransport(std::shared_ptr<MpiShare> share, std::vector<Peer> peers, int rank,
               const MpiTerms& terms)
      : share_(std::move(share)),
        peers_(std::move(peers)),
        rank_(rank),
        terms_(terms),
        inbox_({share_->comm(), own().tag}, ranks(), pool_),
        open_(peers_.size()) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(peers_.size()); }
  int launched_as() const override { return share_->world_rank(); }
  /// Who was bound to some of the CPUs has them to itself.
  int neighbours() const override {
    const int processes = count_processes();
    if (!has_all_cpus()) return 1;
    return processes > 0 ? processes : size();
  }

  uint64_t node() const override { return machine_number(); }

  void check_thread() const override { check_mpi_caller(); }
  void check_queue() const override {
    int level = MPI_THREAD_SINGLE;
    check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
    if (level < MPI_THREAD_MULTIPLE)
      fail(sparsecollInvalidUsage,
           "config.blocking = 0: expected MPI_THREAD_MULTIPLE, got a lower thread level");
  }

  void send(int peer, ConstBytes bytes) override { start(peer, bytes, nullptr); }
  void open(int peer, const Length& length) override { announce(peer, length, nullptr); }
  void send_part(int peer, ConstBytes part) override { start_part(peer, part, nullptr); }

  void hand_over(int peer, Buffer message) override {
    const auto kept = std::make_shared<Buffer>(std::move(message));
    start(peer, {kept->data(), kept->size()}, kept);
  }

  size_t unsent() override {
    progress_sends();
    return unsent_;
  }

  size_t unsent_handed_over() override {
    progress_sends();
    return unsent_handed_over_;
  }

  size_t unsent_to(int peer) override {
    size_t bytes = 0;
    for (const Sending& each : sends_) bytes += each.peer == peer ? each.bytes : 0;
    return bytes;
  }

  std::optional<Arrived> poll() override {
    progress_sends();
    return inbox_.poll();
  }

  bool gone(int) const override { return false; }

  /// MPI moves messages only inside its calls, so this gives way to other processes, no more.
  void idle(Clock::time_point) override { sched_yield(); }
  void interrupt() noexcept override {}

  uint64_t next_address() override {
    if (!next_tag_) next_tag_ = share_->take_tag();
    return static_cast<uint64_t>(*next_tag_);
  }

  std::unique_ptr<Transport> split(std::span<const Member> members, uint64_t) override {
    if (members.empty()) return nullptr;  // nobody sends to the address that was told: keep it
    std::vector<Peer> peers;
    for (const Member& each : members) {
      if (each.address > static_cast<uint64_t>(share_->highest_tag()))
        fail(sparsecollRemoteError, "rank ", each.rank, " sent a tag of ", each.address,
             ", expected at most ", share_->highest_tag());
      peers.push_back(
          {peers_[static_cast<size_t>(each.rank)].rank, static_cast<int>(each.address)});
    }
    const auto self = std::ranges::find(members, rank_, &Member::rank);
    auto part = std::make_unique<MpiTransport>(share_, std::move(peers),
                                               static_cast<int>(self - members.begin()), terms_);
    next_tag_.reset();
    return part;
  }

  bool closes_together() const override { return true; }
  void close() override {
    if (next_tag_) share_->give_back(*next_tag_);
    share_->give_back(own().tag);
  }

  size_t abandon(bool* touches_caller) noexcept override {
    // Requests that are under way cannot be taken back, nor can the communicator be freed: MPI may
    // touch their memory for ever.
    size_t bytes = inbox_.abandon();
    *touches_caller = unsent_ > 0;
    for (const Sending& each : sends_)
      if (each.kept) bytes += each.kept->leak();
    if (!sends_.empty()) {
      bytes += announced_->size() * sizeof(Announcement);
      static_cast<void>(announced_.release());
    }
    return bytes;
  }
  bool takes_device_memory() const override { return *terms_.device_memory; }
  void receive_into(std::shared_ptr<Memory> device) override {
    if (*terms_.device_memory) inbox_.receive_into(std::move(device));
  }

  Pool& pool() override { return pool_; }
  const Memory& memory() const override { return memory_; }

 private:
  using Kept = std::shared_ptr<Buffer>;  ///< of a message that was handed over, else null
  struct Sending {
    MPI_Request request;
    int peer;
    size_t bytes;
    Kept kept;
  };

  Peer own() const { return peers_[static_cast<size_t>(rank_)]; }
  std::vector<int> ranks() const {
    std::vector<int> ranks;
    for (const Peer& each : peers_) ranks.push_back(each.rank);
    return ranks;
  }

  void start(int peer, ConstBytes bytes, const Kept& kept) {
    give_up_open(peer);
    if (!bytes.empty() && bytes.size() <= terms_.chunk) return start_piece(peer, bytes, kept);
    announce(peer, bytes.size(), kept);
    start_part(peer, bytes, kept);
  }

  void announce(int peer, const Length& length, const Kept& kept) {
    give_up_open(peer);
    start_piece(peer, {}, kept);
    announced_->push_back({length.bytes, length.hidden});
    const std::span<const uint64_t> words(announced_->back());
    start_piece(peer, std::as_bytes(words.first(length.hidden > 0 ? 2 : 1)), kept);
    open_[static_cast<size_t>(peer)] = length.bytes;
  }

  void start_part(int peer, ConstBytes part, const Kept& kept) {
    const size_t chunk = terms_.chunk;
    for (size_t at = 0; at < part.size(); at += chunk)
      start_piece(peer, part.subspan(at, std::min(chunk, part.size() - at)), kept);
    open_[static_cast<size_t>(peer)] -= part.size();
  }

  void give_up_open(int peer) {
    if (std::exchange(open_[static_cast<size_t>(peer)], 0) > 0) start_piece(peer, {}, nullptr);
  }

  void start_piece(int peer, ConstBytes bytes, const Kept& kept) {
    const Peer& to = peers_[static_cast<size_t>(peer)];
    // Its place first: a request that is under way must not be lost for want of memory.
    Sending& place = sends_.emplace_back(Sending{MPI_REQUEST_NULL, peer, bytes.size(), kept});
    const int code = MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to.rank,
                               to.tag, share_->comm(), &place.request);
    if (code != MPI_SUCCESS) sends_.pop_back();
    check_mpi_with(peer, code, "a send to");
    unsent_of(place) += bytes.size();
  }

  size_t& unsent_of(const Sending& message) { return message.kept ? unsent_handed_over_ : unsent_; }

  void progress_sends() {
    int failure = MPI_SUCCESS, peer = 0;
    std::erase_if(sends_, [&](Sending& each) {
      int done = 0;
      const int code = MPI_Test(&each.request, &done, MPI_STATUS_IGNORE);
      if (code != MPI_SUCCESS) {  // done too; thrown when the list is whole again
        failure = code;
        peer = each.peer;
        done = 1;
      }
      if (done) unsent_of(each) -= each.bytes;
      return done != 0;
    });
    if (sends_.empty()) announced_->clear();
    check_mpi_with(peer, failure, "a send to");
  }

  std::shared_ptr<MpiShare> share_;
  std::vector<Peer> peers_;
  int rank_;
  const MpiTerms terms_;
  /// Under which the next part will receive, once its peers have been told; none before.
  std::optional<int> next_tag_;
  Memory memory_;
  Pool pool_{memory_};
  MpiInbox inbox_;
  std::vector<size_t> open_;  ///< by peer: bytes of an announced message that are still to come
  std::vector<Sending> sends_;
  /// Sizes on their way, of a message and of what is hidden of it; a deque does not move them.
  using Announcement = std::array<uint64_t, 2>;
  std::unique_ptr<std::deque<Announcement>> announced_ =
      std::make_unique<std::deque<Announcement>>();
  size_t unsent_ = 0;
  size_t unsent_handed_over_ = 0;
};

}  // namespace

std::unique_ptr<Transport> make_mpi_transport(MPI_Comm mpi, const Deadline& deadline,
                                              const MpiTerms& terms) {
  check_mpi_caller();
  if (mpi == MPI_COMM_NULL) fail(sparsecollInvalidArgument, "mpi is MPI_COMM_NULL");
  int between_groups = 0;
  check_mpi(MPI_Comm_test_inter(mpi, &between_groups), "MPI_Comm_test_inter");
  if (between_groups)
    fail(sparsecollInvalidArgument, "mpi is an intercommunicator; expected an intracommunicator");
  int rank = 0, size = 1;
  check_mpi(MPI_Comm_rank(mpi, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(mpi, &size), "MPI_Comm_size");
  std::vector<MpiTransport::Peer> peers;
  for (int peer = 0; peer < size; ++peer) peers.push_back({peer, MpiShare::kFirstTag});
  MpiTerms decided = terms;
  if (!decided.device_memory) decided.device_memory = mpi_is_cuda_aware();
  return std::make_unique<MpiTransport>(std::make_shared<MpiShare>(mpi, deadline), std::move(peers),
                                        rank, decided);
}

}  // namespace sparsecoll
