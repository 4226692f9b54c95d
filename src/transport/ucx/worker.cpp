// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/worker.hpp"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace sparsecoll::ucx {

namespace {

constexpr unsigned kMessageId = 0;
constexpr unsigned kMeetingId = 1;
/// The bytes that one active message carries. They fit in one packet of UCX's shared memory (8 KiB)
/// and of its TCP (64 KiB), so that UCX hands them over where they have arrived, and does not first
/// put a message together in memory of its own.
constexpr size_t kFragmentInMachine = 8000;
constexpr size_t kFragment = 60 * 1024;
constexpr auto kLook = std::chrono::milliseconds(1);
/// Rounds of progress() after which nothing more of a peer that has died can arrive.
constexpr int kMostRounds = 100000;
constexpr auto kMostClosing = std::chrono::milliseconds(500);

/// What the ranks tell each other first. Its bytes are sent as they are.
struct Introduction {
  RankLocation location;
  LifeLineAddress life_line;
  uint64_t address_bytes;
};

template <class T>
ConstBytes bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

Worker::Worker(int rank, size_t ranks, Bootstrap& bootstrap, const Deadline& deadline)
    : ucx_(open_library()), rank_(rank), peers_(ranks) {
  try {
    life_lines_.emplace(rank, ranks);
    start();
    const std::vector<std::byte> own = own_address();
    const Introduction self{RankLocation::here(), life_lines_->address(), own.size()};
    const std::vector<std::byte> all = bootstrap.allgather(bytes_of(self));
    std::vector<LifeLineAddress> life_lines;
    size_t longest = 0;
    for (size_t r = 0; r < ranks; ++r) {
      Introduction peer{};
      std::memcpy(&peer, all.data() + r * sizeof peer, sizeof peer);
      peers_[r].fragment =
          peer.location.machine == self.location.machine ? kFragmentInMachine : kFragment;
      locations_.push_back(peer.location);
      life_lines.push_back(peer.life_line);
      longest = std::max(longest, static_cast<size_t>(peer.address_bytes));
    }
    life_lines_->connect(life_lines);
    std::vector<std::byte> padded(own);
    padded.resize(longest);
    const std::vector<std::byte> addresses = bootstrap.allgather(padded);
    life_lines_->accept_all();
    new_mailbox();  // a peer may send as soon as it has met this rank
    connect(addresses, longest);
    meet(deadline);
  } catch (...) {
    shut_down();
    throw;
  }
}

Worker::~Worker() { shut_down(); }

void Worker::check(ucs_status_t status, const char* function) const {
  if (status != UCS_OK)
    fail(sparsecollSystemError, "UCX: ", function, ": ", ucx_.status_string(status));
}

void Worker::start() {
  ucp_config_t* config = nullptr;
  check(ucx_.config_read(nullptr, nullptr, &config), "ucp_config_read");
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  params.estimated_num_eps = peers_.size();
  const ucs_status_t made =
      ucx_.init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context_);
  ucx_.config_release(config);
  check(made, "ucp_init");
  ucp_worker_params_t options{};
  options.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_EVENTS;
  options.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  options.events = UCP_WAKEUP_TX | UCP_WAKEUP_RX;
  check(ucx_.worker_create(context_, &options, &worker_), "ucp_worker_create");
  check(ucx_.worker_fd(worker_, &event_fd_), "ucp_worker_get_efd");
  listen(kMessageId, on_message);
  listen(kMeetingId, on_meeting);
  for (size_t peer = 0; peer < peers_.size(); ++peer) {
    peers_[peer].worker = this;
    peers_[peer].rank = static_cast<int>(peer);
  }
  to_close_.reserve(peers_.size());
}

void Worker::listen(unsigned id, ucp_am_recv_callback_t receive) {
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = id;
  handler.cb = receive;
  handler.arg = this;
  check(ucx_.set_receiver(worker_, &handler), "ucp_worker_set_am_recv_handler");
}

std::vector<std::byte> Worker::own_address() {
  ucp_address_t* address = nullptr;
  size_t bytes = 0;
  check(ucx_.worker_address(worker_, &address, &bytes), "ucp_worker_get_address");
  const auto* const at = reinterpret_cast<const std::byte*>(address);
  std::vector<std::byte> copy(at, at + bytes);
  ucx_.release_address(worker_, address);
  return copy;
}

void Worker::connect(const std::vector<std::byte>& addresses, size_t stride) {
  for (Peer& peer : peers_) {
    if (peer.rank == rank_) continue;
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.address = reinterpret_cast<const ucp_address_t*>(
        addresses.data() + static_cast<size_t>(peer.rank) * stride);
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler.cb = on_failure;
    params.err_handler.arg = &peer;
    check(ucx_.endpoint_create(worker_, &params, &peer.endpoint), "ucp_ep_create");
  }
}

void Worker::meet(const Deadline& deadline) {
  const auto own = static_cast<uint32_t>(rank_);  // UCX reads it until the messages are sent
  std::vector<void*> requests;
  const ucp_request_param_t how{};
  for (Peer& peer : peers_) {
    peer.met = peer.rank == rank_;
    if (peer.met || peer.failed) continue;
    void* const request = ucx_.send(peer.endpoint, kMeetingId, &own, sizeof own, nullptr, 0, &how);
    if (UCS_PTR_IS_ERR(request)) fail_peer(peer.rank);
    if (UCS_PTR_IS_PTR(request)) requests.push_back(request);
  }
  const auto is_missing = [](const Peer& peer) { return !peer.met && !peer.failed; };
  auto missing = peers_.begin();
  while ((missing = std::find_if(missing, peers_.end(), is_missing)) != peers_.end() &&
         !deadline.passed())
    if (!progress()) sched_yield();
  wait_for(requests, deadline.within(kMostClosing));
  if (missing != peers_.end())
    fail(sparsecollTimeout, "deadline passed, nothing was heard over UCX from rank ",
         missing->rank);
  const auto failed = std::ranges::find(peers_, true, &Peer::failed);
  if (failed != peers_.end())
    fail(sparsecollRemoteError, "rank ", failed->rank, " cannot be reached over UCX, or has ended");
}

ucs_status_t Worker::on_meeting(void* worker, const void* header, size_t header_bytes, void*,
                                size_t, const ucp_am_recv_param_t*) {
  uint32_t rank = 0;
  if (header_bytes != sizeof rank) return UCS_OK;
  std::memcpy(&rank, header, sizeof rank);
  Worker& self = *static_cast<Worker*>(worker);
  if (rank < self.peers_.size()) self.peers_[rank].met = true;
  return UCS_OK;
}

std::shared_ptr<Mailbox> Worker::new_mailbox() {
  const auto made = std::make_shared<Mailbox>(next_address_, peers_.size());
  mailboxes_.emplace(next_address_, made);
  ++next_address_;
  return made;
}

void Worker::retire(const std::shared_ptr<Mailbox>& mailbox) {
  mailboxes_.erase(mailbox->address());  // operations keep it
  if (mailboxes_.empty()) shut_down();
}

Worker::Operation& Worker::new_operation() {
  if (free_.empty()) {
    free_.reserve(operations_.size() + 1);  // so that release() does not allocate
    free_.push_back(&operations_.emplace_back());
    free_.back()->worker = this;
  }
  Operation& operation = *free_.back();
  free_.pop_back();
  return operation;
}

void Worker::release(Operation& operation) {
  operation.owner = nullptr;
  operation.mailbox->notify();
  operation.mailbox = nullptr;
  free_.push_back(&operation);
}

void Worker::send(const std::shared_ptr<Mailbox>& from, const Outgoing& message) {
  Peer& peer = peers_[static_cast<size_t>(message.rank)];
  if (peer.rank == rank_) return deliver(message.header, message.bytes);
  MessageHeader header = message.header;
  ConstBytes left = message.bytes;
  do {
    const ConstBytes fragment = left.first(std::min(left.size(), peer.fragment));
    left = left.subspan(fragment.size());
    start_send(from, message, header, fragment);
    header.offset += fragment.size();
  } while (!left.empty());
}

void Worker::start_send(const std::shared_ptr<Mailbox>& from, const Outgoing& message,
                        const MessageHeader& header, ConstBytes bytes) {
  Peer& peer = peers_[static_cast<size_t>(message.rank)];
  if (peer.failed) return;
  Operation& operation = new_operation();
  operation.mailbox = from;
  operation.header = header;
  operation.owner = message.owner;
  ucp_request_param_t how{};
  how.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  how.cb.send = on_sent;
  how.user_data = &operation;
  how.flags = UCP_AM_SEND_FLAG_EAGER;
  void* const request = ucx_.send(peer.endpoint, kMessageId, &operation.header,
                                  sizeof operation.header, bytes.data(), bytes.size(), &how);
  if (UCS_PTR_IS_ERR(request)) fail_peer(peer.rank);
  if (!UCS_PTR_IS_PTR(request)) return release(operation);
  operation.peer = message.peer;
  operation.bytes = bytes.size();
  from->count(operation.peer, operation.bytes, operation.owner != nullptr);
}

void Worker::on_sent(void* request, ucs_status_t, void* operation) {
  Operation& sent = *static_cast<Operation*>(operation);
  Worker& worker = *sent.worker;
  // Bytes to a peer that has failed count as sent, too.
  sent.mailbox->count(sent.peer, size_t{0} - sent.bytes, sent.owner != nullptr);
  worker.release(sent);
  worker.ucx_.request_free(request);
}

void Worker::deliver(const MessageHeader& header, ConstBytes bytes) {
  const auto found = mailboxes_.find(header.mailbox);
  if (found == mailboxes_.end()) return;
  if (header.cancels) return found->second->cancel(header);
  found->second->put(header, bytes);
}

void Worker::receive(const MessageHeader& header, ConstBytes bytes) {
  const auto found = mailboxes_.find(header.mailbox);
  if (found == mailboxes_.end()) return;  // the communicator has ended
  try {
    deliver(header, bytes);
  } catch (const Error& error) {
    found->second->fail_with(error);
  } catch (const std::bad_alloc&) {
    found->second->fail_with(Error(sparsecollSystemError, "out of memory for a message"));
  }
}

ucs_status_t Worker::on_message(void* worker, const void* header, size_t header_bytes, void* data,
                                size_t bytes, const ucp_am_recv_param_t* how) {
  MessageHeader message{};
  // Others are of no rank of this library.
  if (header_bytes != sizeof message || (how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0)
    return UCS_OK;
  std::memcpy(&message, header, sizeof message);
  static_cast<Worker*>(worker)->receive(message, {static_cast<const std::byte*>(data), bytes});
  return UCS_OK;
}

void Worker::on_failure(void* peer, ucp_ep_h, ucs_status_t) {
  const Peer& failed = *static_cast<Peer*>(peer);
  failed.worker->fail_peer(failed.rank);
}

void Worker::fail_peer(int rank) {
  Peer& peer = peers_[static_cast<size_t>(rank)];
  if (std::exchange(peer.failed, true)) return;
  to_close_.push_back(rank);
  for (const auto& [address, mailbox] : mailboxes_) mailbox->notify();
}

void Worker::close_failed() {
  // UCX may report another failure meanwhile.
  while (!to_close_.empty()) {
    Peer& peer = peers_[static_cast<size_t>(to_close_.back())];
    to_close_.pop_back();
    if (!peer.endpoint) continue;
    if (void* const request = force_close(peer)) ucx_.request_free(request);
  }
}

void* Worker::force_close(Peer& peer) {
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  how.flags = UCP_EP_CLOSE_FLAG_FORCE;
  void* const request = ucx_.endpoint_close(std::exchange(peer.endpoint, nullptr), &how);
  return UCS_PTR_IS_PTR(request) ? request : nullptr;
}

bool Worker::progress() {
  if (!worker_) return false;
  const bool any = ucx_.worker_progress(worker_) != 0;
  if (!to_close_.empty()) close_failed();
  // A rank that sleeps may have missed what this thread has taken from UCX.
  if (any && sleepers_ > 0)
    for (const auto& [address, mailbox] : mailboxes_)
      if (mailbox->sleeps) mailbox->wake();
  return any;
}

void Worker::look_for_dead() {
  const Clock::time_point now = Clock::now();
  if (!life_lines_ || now - looked_ < kLook) return;
  looked_ = now;
  life_lines_->check([this](int peer) {
    // What it sent before is received first.
    for (int round = 0; round < kMostRounds && progress(); ++round) {
    }
    fail_peer(peer);
  });
  if (!to_close_.empty()) close_failed();
}

void Worker::sleep(Mailbox& mailbox, uint64_t seen, Clock::time_point limit,
                   const std::atomic<bool>& interrupted) {
  std::unique_lock lock(mutex_);
  if (!worker_) return;
  for (;;) {
    while (progress()) {
    }
    if (mailbox.events() != seen) return;
    const ucs_status_t armed = ucx_.worker_arm(worker_);
    if (armed == UCS_OK) break;
    if (armed != UCS_ERR_BUSY) check(armed, "ucp_worker_arm");
  }
  const auto left = std::clamp<Clock::duration>(limit - Clock::now(), Clock::duration::zero(),
                                                std::chrono::hours(1));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  const timespec wait{seconds.count(), (left - seconds).count()};
  pollfd sources[] = {
      {event_fd_, POLLIN, 0}, {mailbox.wake_fd(), POLLIN, 0}, {life_lines_->fd(), POLLIN, 0}};
  mailbox.sleeps = true;
  ++sleepers_;
  if (interrupted) mailbox.wake();
  lock.unlock();
  ppoll(sources, std::size(sources), &wait, nullptr);
  lock.lock();
  mailbox.sleeps = false;
  --sleepers_;
  mailbox.clear_wake();
  progress();
  if (sources[2].revents != 0) {
    looked_ = {};
    look_for_dead();
  }
}

void Worker::wait_for(std::vector<void*>& requests, Clock::time_point limit) {
  for (void* const request : requests) {
    while (ucx_.request_status(request) == UCS_INPROGRESS && Clock::now() < limit)
      if (!progress()) sched_yield();
    ucx_.request_free(request);
  }
  requests.clear();
}

void Worker::flush(const std::vector<int>& ranks, Clock::time_point limit) {
  std::vector<void*> requests;
  for (const int rank : ranks) {
    const Peer& peer = peers_[static_cast<size_t>(rank)];
    if (peer.failed || !peer.endpoint) continue;
    const ucp_request_param_t how{};
    void* const request = ucx_.endpoint_flush(peer.endpoint, &how);
    if (UCS_PTR_IS_PTR(request)) requests.push_back(request);
  }
  wait_for(requests, limit);
}

void Worker::shut_down() noexcept {
  if (!context_) return;
  std::vector<void*> requests;
  to_close_.clear();
  for (Peer& peer : peers_) {
    peer.failed = true;  // nothing is sent any more
    if (!peer.endpoint) continue;
    if (void* const request = force_close(peer)) requests.push_back(request);
  }
  wait_for(requests, Clock::now() + kMostClosing);
  if (worker_) ucx_.worker_destroy(worker_);
  ucx_.cleanup(context_);
  worker_ = nullptr;
  context_ = nullptr;
  life_lines_.reset();  // after the last message
}

}  // namespace sparsecoll::ucx
