// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/worker.hpp"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/error.hpp"

namespace sparsecoll::ucx {

namespace {

constexpr int kMostArming = 3;
constexpr unsigned kPollsOfNetwork = 32;  // one of so many polls looks at the network
constexpr auto kNap = std::chrono::microseconds(50);
constexpr auto kMostClosing = std::chrono::milliseconds(500);

}  // namespace

Worker::~Worker() { shut_down(); }

std::shared_ptr<Mailbox> Worker::new_mailbox() {
  const auto made = std::make_shared<Mailbox>(next_address_, peers_.size());
  const uint64_t recovery = Mailbox::recovery_address(next_address_);
  mailboxes_.emplace(recovery, std::make_shared<Mailbox>(recovery, peers_.size()));
  mailboxes_.emplace(next_address_, made);
  next_address_ = recovery + 1;
  return made;
}

std::shared_ptr<Mailbox> Worker::recovery_of(const Mailbox& mailbox) const {
  if (Mailbox::is_recovery_address(mailbox.address())) return nullptr;
  const auto found = mailboxes_.find(Mailbox::recovery_address(mailbox.address()));
  return found == mailboxes_.end() ? nullptr : found->second;
}

void Worker::retire(const std::shared_ptr<Mailbox>& mailbox) {
  mailboxes_.erase(mailbox->address());  // operations in progress keep the mailbox alive
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
  const size_t most = connect(peer, message.path).fragment;
  if (peer.failed) return;
  do {
    const ConstBytes fragment = left.first(std::min(left.size(), most));
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
  operation.rank = message.rank;
  ucp_request_param_t how{};
  how.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  how.cb.send = on_sent;
  how.user_data = &operation;
  how.flags = UCP_AM_SEND_FLAG_EAGER;
  const ucp_ep_h endpoint = connection(peer, message.path).endpoint;
  void* const request = ucx_.send(endpoint, kMessageId, &operation.header, sizeof operation.header,
                                  bytes.data(), bytes.size(), &how);
  if (UCS_PTR_IS_ERR(request)) fail_peer(peer.rank);
  if (!UCS_PTR_IS_PTR(request)) return release(operation);
  operation.peer = message.peer;
  operation.bytes = std::max<size_t>(bytes.size(), 1);  // an empty message counts, too
  from->count(operation.peer, operation.bytes, operation.owner != nullptr);
}

void Worker::on_sent(void* request, ucs_status_t, void* operation) {
  Operation& sent = *static_cast<Operation*>(operation);
  Worker& worker = *sent.worker;
  // The bytes count as sent even if the peer has failed.
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
  if (found == mailboxes_.end()) return;  // the message is for a communicator that has ended
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
  // Other messages do not come from this library.
  if (header_bytes != sizeof message || (how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0)
    return UCS_OK;
  std::memcpy(&message, header, sizeof message);
  static_cast<Worker*>(worker)->receive(message, {static_cast<const std::byte*>(data), bytes});
  return UCS_OK;
}

Worker::Connection& Worker::connection(Peer& peer, Path path) {
  return path == Path::shortest || peer.network_address.empty() ? peer.shortest : peer.network;
}

Worker::Connection& Worker::connect(Peer& peer, Path path) {
  Connection& found = connection(peer, path);
  if (found.endpoint || peer.failed) return found;
  found = connect_by_network(peer, peer.network_address.data());
  if (!found.endpoint) fail_peer(peer.rank);  // UCX has reported that the peer is dead
  return found;
}

void Worker::poll() {
  if (uses_network_ || engines_.size() < 2 || ++polls_ % kPollsOfNetwork == 0)
    progress();
  else
    after_progress(engines_.back()->progress());
}

bool Worker::progress() {
  bool any = false;
  for (const auto& engine : engines_) any = engine->progress() || any;
  after_progress(any);
  return any;
}

void Worker::after_progress(bool any) {
  if (!to_close_.empty()) close_failed();
  // This thread may have received messages for communicators whose threads sleep.
  if (any && sleepers_ > 0)
    for (const auto& [address, mailbox] : mailboxes_)
      if (mailbox->sleeps) mailbox->wake();
}

void Worker::sleep(Mailbox& mailbox, uint64_t seen, Clock::time_point limit,
                   const std::atomic<bool>& interrupted) {
  std::unique_lock lock(mutex_);
  if (engines_.empty()) return;
  bool armed = false;
  for (int tries = 0; tries < kMostArming && !armed; ++tries) {
    while (mailbox.events() == seen && progress()) {
    }
    if (mailbox.events() != seen) return;
    armed = std::ranges::all_of(engines_, [](const auto& engine) { return engine->arm(); });
  }
  // UCX reports no event when a peer in shared memory has room again, so this loop polls.
  if (!armed) limit = std::min(limit, Clock::now() + kNap);
  const auto left = std::clamp<Clock::duration>(limit - Clock::now(), Clock::duration::zero(),
                                                std::chrono::hours(1));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  const timespec wait{seconds.count(), (left - seconds).count()};
  pollfd sources[] = {{mailbox.wake_fd(), POLLIN, 0},
                      {life_lines_->fd(), POLLIN, 0},
                      {armed ? engines_.front()->fd() : -1, POLLIN, 0},
                      {armed && engines_.size() > 1 ? engines_.back()->fd() : -1, POLLIN, 0}};
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
  if (sources[1].revents != 0) {
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

void Worker::flush(const std::vector<int>& ranks, Path path, Clock::time_point limit) {
  std::vector<void*> requests;
  for (const int rank : ranks) {
    Peer& peer = peers_[static_cast<size_t>(rank)];
    if (peer.failed) continue;
    const ucp_ep_h endpoint = connection(peer, path).endpoint;
    if (!endpoint) continue;
    const ucp_request_param_t how{};
    void* const request = ucx_.endpoint_flush(endpoint, &how);
    if (UCS_PTR_IS_PTR(request)) requests.push_back(request);
  }
  wait_for(requests, limit);
}

void Worker::shut_down() noexcept {
  std::vector<void*> requests;
  to_close_.clear();
  // Without connections of this rank over the network only UCX's answers to peers can be queued.
  const bool sends = std::ranges::any_of(peers_, [](const Peer& peer) {
    return over_network(peer.shortest) || over_network(peer.network);
  });
  // UCX's answers may also be queued on the connections that end below.
  const Clock::time_point limit = Clock::now() + kMostFlushing;
  bool drained = true;
  for (const auto& engine : engines_) drained = engine->drain(limit) && drained;
  for (Peer& peer : peers_) {
    peer.failed = true;  // from now on nothing is sent to the peer
    for (Connection* const each : {&peer.shortest, &peer.network}) {
      const ucp_ep_h endpoint = std::exchange(each->endpoint, nullptr);
      if (!endpoint) continue;
      if (void* const request = each->engine->close(endpoint)) requests.push_back(request);
    }
  }
  wait_for(requests, Clock::now() + kMostClosing);
  for (void* const request : std::exchange(probe_requests_, {})) ucx_.request_free(request);
  for (auto& engine : std::exchange(engines_, {}))
    Engine::end(std::move(engine), drained || !sends);
  life_lines_.reset();  // after the last message was sent
  for (const Peer& peer : peers_) forget_sends(peer.rank);
}

}  // namespace sparsecoll::ucx
