// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// A worker notices that a peer has failed or died, closes the connections to it, and finds out
// whether the peer has blocked the queue of this rank.

#include <utility>

#include "transport/ucx/worker.hpp"

namespace sparsecoll::ucx {

namespace {

constexpr auto kLook = std::chrono::milliseconds(1);
/// The time after which a probe counts as lost. A live process that writes to the queue, and gets
/// no CPU meanwhile, delays it.
constexpr auto kMostProbing = std::chrono::milliseconds(100);
/// The number of calls of progress() after which no more data can arrive that was sent before.
constexpr int kMostRounds = 100000;

}  // namespace

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
  // UCX may report another failure during this loop.
  while (!to_close_.empty()) {
    Peer& peer = peers_[static_cast<size_t>(to_close_.back())];
    to_close_.pop_back();
    for (Connection* const each : {&peer.shortest, &peer.network}) {
      const ucp_ep_h endpoint = std::exchange(each->endpoint, nullptr);
      if (!endpoint) continue;
      if (each->engine->kind() == Engine::Kind::memory) forget_sends(peer.rank);
      if (void* const request = each->engine->close(endpoint)) ucx_.request_free(request);
    }
  }
}

void Worker::forget_sends(int rank) {
  for (Operation& operation : operations_) {
    if (!operation.mailbox || operation.rank != rank) continue;
    operation.mailbox->count(operation.peer, size_t{0} - operation.bytes,
                             operation.owner != nullptr);
    operation.mailbox->notify();
    operation.bytes = 0;  // the operation keeps the memory of a message that was handed over
  }
}

void Worker::look_for_dead() {
  const Clock::time_point now = Clock::now();
  if (!life_lines_ || now - looked_ < kLook) return;
  looked_ = now;
  life_lines_->check([this](int peer) {
    receive_all();  // the peer may have sent before it died
    probe_queue(peer);
    fail_peer(peer);
  });
  if (!to_close_.empty()) close_failed();
  if (probes_.empty() || now - probes_.front().sent < kMostProbing) return;
  receive_all();
  if (!probes_.empty()) blocked_by_ = probes_.front().dead;
}

void Worker::receive_all() {
  for (int round = 0; round < kMostRounds && progress(); ++round) {
  }
}

void Worker::probe_queue(int dead) {
  const Connection& broken = peers_[static_cast<size_t>(dead)].shortest;
  if (!broken.endpoint || broken.engine->kind() != Engine::Kind::memory) return;
  if (!to_itself_)
    to_itself_ = broken.engine->connect(broken.engine->address().data(), on_failure, nullptr);
  if (!to_itself_) return;
  probes_.push_back({dead, Clock::now()});
  const ucp_request_param_t how{};
  void* const request = ucx_.send(to_itself_, kProbeId, nullptr, 0, nullptr, 0, &how);
  if (UCS_PTR_IS_ERR(request)) probes_.pop_back();
  if (UCS_PTR_IS_PTR(request)) probe_requests_.push_back(request);
}

ucs_status_t Worker::on_probe(void* worker, const void*, size_t, void*, size_t,
                              const ucp_am_recv_param_t*) {
  std::deque<Probe>& probes = static_cast<Worker*>(worker)->probes_;
  if (!probes.empty()) probes.pop_front();
  return UCS_OK;
}

}  // namespace sparsecoll::ucx
