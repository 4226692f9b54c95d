// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi_outbox.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "transport/mpi_eager.hpp"
#include "transport/mpi_duplicate.hpp"

namespace sparsecoll {

void MpiOutbox::send(int peer, ConstBytes bytes, const OwnedMessage& owner) {
  give_up_open(peer);
  if (options_.eager[static_cast<size_t>(peer)] && eager_chunks_of(bytes.size()) > 0)
    return start_eager(peer, bytes, owner);
  const bool as_it_is = !bytes.empty() && eager_chunks_after(bytes.size()) == 0;
  if (as_it_is && bytes.size() <= options_.chunk) return start(peer, bytes, owner);
  open(peer, bytes.size(), owner);
  send_chunk(peer, bytes, owner);
}

void MpiOutbox::start_eager(int peer, ConstBytes message, const OwnedMessage& owner) {
  const size_t more = eager_chunks_of(message.size());
  under_way_.reserve(1 + more);  // the receiver waits for all of them from the first one on
  start(peer, message.first(kEagerBytes + more), owner);
  message = message.subspan(kEagerBytes + more);
  for (size_t i = 0; i < more; ++i) {
    const size_t bytes = std::min(kEagerBytes, message.size());
    start(peer, message.first(bytes), owner);
    message = message.subspan(bytes);
  }
}

void MpiOutbox::open(int peer, const MessageLength& length, const OwnedMessage& owner) {
  give_up_open(peer);
  start(peer, {}, owner);
  announced_->push_back({length.bytes, length.device_bytes});
  const std::span<const uint64_t> words(announced_->back());
  start(peer, std::as_bytes(words.first(length.device_bytes > 0 ? 2 : 1)), owner);
  open_[static_cast<size_t>(peer)] = length.bytes;
}

void MpiOutbox::send_chunk(int peer, ConstBytes part, const OwnedMessage& owner) {
  for (size_t at = 0; at < part.size(); at += options_.chunk)
    start(peer, part.subspan(at, std::min(options_.chunk, part.size() - at)), owner);
  open_[static_cast<size_t>(peer)] -= part.size();
}

void MpiOutbox::give_up_open(int peer) {
  if (std::exchange(open_[static_cast<size_t>(peer)], 0) > 0) start(peer, {}, nullptr);
}

void MpiOutbox::start(int peer, ConstBytes bytes, const OwnedMessage& owner) {
  const MpiAddress& to = peers_[static_cast<size_t>(peer)];
  const int code = under_way_.begin({peer, bytes.size(), owner}, [&](MPI_Request* request) {
    return MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to.rank, to.tag, comm_,
                     request);
  });
  check_mpi_peer(peer, code, "a send to");
  unsent_of(owner) += bytes.size();
}

void MpiOutbox::progress() {
  int failure = MPI_SUCCESS, peer = 0;
  under_way_.test([&](Sending& one, const MPI_Status&, int code) {
    if (code != MPI_SUCCESS) {
      failure = code;
      peer = one.peer;
    }
    unsent_of(one.owner) -= one.bytes;
  });
  if (under_way_.empty()) announced_->clear();
  check_mpi_peer(peer, failure, "a send to");
}

size_t MpiOutbox::unsent_to(int peer) const {
  size_t bytes = 0;
  for (const Sending& each : under_way_.owners()) bytes += each.peer == peer ? each.bytes : 0;
  return bytes;
}

size_t MpiOutbox::abandon() noexcept {
  // Requests that are under way cannot be taken back: MPI may touch their memory for ever.
  size_t bytes = 0;
  for (const Sending& each : under_way_.owners())
    if (each.owner) bytes += each.owner->leak();
  if (!under_way_.empty()) {
    bytes += announced_->size() * sizeof(Announcement);
    static_cast<void>(announced_.release());
  }
  return bytes;
}

}  // namespace sparsecoll
