// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi_outbox.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "transport/mpi_eager.hpp"

namespace sparsecoll {

void MpiOutbox::send(int peer, ConstBytes bytes, const OwnedMessage& owner) {
  cancel_open(peer);
  if (options_.eager[static_cast<size_t>(peer)] && eager_chunks_of(bytes.size()) > 0)
    return send_eager(peer, bytes, owner);
  const bool as_one = !bytes.empty() && eager_chunks_after(bytes.size()) == 0;
  if (as_one && bytes.size() <= options_.max_message) return start(peer, bytes, owner);
  open(peer, bytes.size(), owner);
  send_chunk(peer, bytes, owner);
}

void MpiOutbox::send_eager(int peer, ConstBytes message, const OwnedMessage& owner) {
  const size_t more = eager_chunks_of(message.size());
  requests_.reserve(1 + more);  // once the first chunk is sent, the others must follow
  start(peer, message.first(kEagerBytes + more), owner);
  message = message.subspan(kEagerBytes + more);
  for (size_t i = 0; i < more; ++i) {
    const size_t bytes = std::min(kEagerBytes, message.size());
    start(peer, message.first(bytes), owner);
    message = message.subspan(bytes);
  }
}

void MpiOutbox::open(int peer, const MessageLength& length, const OwnedMessage& owner) {
  cancel_open(peer);
  start(peer, {}, owner);
  announced_->push_back({length.bytes, length.device_bytes});
  const std::span<const uint64_t> words(announced_->back());
  start(peer, std::as_bytes(words.first(length.device_bytes > 0 ? 2 : 1)), owner);
  open_[static_cast<size_t>(peer)] = length.bytes;
}

void MpiOutbox::send_chunk(int peer, ConstBytes chunk, const OwnedMessage& owner) {
  for (size_t at = 0; at < chunk.size(); at += options_.max_message)
    start(peer, chunk.subspan(at, std::min(options_.max_message, chunk.size() - at)), owner);
  open_[static_cast<size_t>(peer)] -= chunk.size();
}

void MpiOutbox::cancel_open(int peer) {
  if (std::exchange(open_[static_cast<size_t>(peer)], 0) > 0) start(peer, {}, nullptr);
}

void MpiOutbox::start(int peer, ConstBytes bytes, const OwnedMessage& owner) {
  const MpiAddress& to = peers_[static_cast<size_t>(peer)];
  const int code = requests_.start({peer, bytes.size(), owner}, [&](MPI_Request* request) {
    return MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to.rank, to.tag, comm_,
                     request);
  });
  check(peer, code);
  count_unsent(peer, owner, bytes.size());
}

void MpiOutbox::check(int peer, int code) {
  if (code == MPI_SUCCESS) return;
  duplicate_.note_failure(peers_[static_cast<size_t>(peer)].rank, code);
  check_mpi_peer(peer, code, "a send to");
}

void MpiOutbox::progress() {
  int failure = MPI_SUCCESS, peer = 0;
  requests_.test([&](Sending& one, const MPI_Status&, int code) {
    if (code != MPI_SUCCESS) {
      failure = code;
      peer = one.peer;
    }
    count_unsent(one.peer, one.owner, 0 - one.bytes);
  });
  if (requests_.empty()) announced_->clear();
  check(peer, failure);
}

size_t MpiOutbox::unsent_to(int peer) const {
  size_t bytes = 0;
  for (const Sending& each : requests_.owners()) bytes += each.peer == peer ? each.bytes : 0;
  return bytes;
}

size_t MpiOutbox::abandon() noexcept {
  // Pending requests cannot be cancelled: MPI may touch their memory for ever.
  size_t bytes = 0;
  for (const Sending& each : requests_.owners())
    if (each.owner) bytes += each.owner->leak();
  if (!requests_.empty()) {
    bytes += announced_->size() * sizeof(Announcement);
    static_cast<void>(announced_.release());
  }
  return bytes;
}

}  // namespace sparsecoll
