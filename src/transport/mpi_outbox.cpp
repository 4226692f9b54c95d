// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi_outbox.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "transport/mpi_chunks.hpp"
#include "transport/mpi_share.hpp"

namespace sparsecoll {

void MpiOutbox::send(int peer, ConstBytes bytes, const Kept& kept) {
  give_up_open(peer);
  if (terms_.in_pieces[static_cast<size_t>(peer)] && pieces_of(bytes.size()) > 0)
    return start_in_pieces(peer, bytes, kept);
  const bool as_it_is = !bytes.empty() && pieces_after(bytes.size()) == 0;
  if (as_it_is && bytes.size() <= terms_.chunk) return start(peer, bytes, kept);
  open(peer, bytes.size(), kept);
  send_part(peer, bytes, kept);
}

void MpiOutbox::start_in_pieces(int peer, ConstBytes message, const Kept& kept) {
  const size_t more = pieces_of(message.size());
  under_way_.reserve(1 + more);  // the receiver waits for all of them from the first one on
  start(peer, message.first(kMpiPiece + more), kept);
  message = message.subspan(kMpiPiece + more);
  for (size_t i = 0; i < more; ++i) {
    const size_t bytes = std::min(kMpiPiece, message.size());
    start(peer, message.first(bytes), kept);
    message = message.subspan(bytes);
  }
}

void MpiOutbox::open(int peer, const Length& length, const Kept& kept) {
  give_up_open(peer);
  start(peer, {}, kept);
  announced_->push_back({length.bytes, length.hidden});
  const std::span<const uint64_t> words(announced_->back());
  start(peer, std::as_bytes(words.first(length.hidden > 0 ? 2 : 1)), kept);
  open_[static_cast<size_t>(peer)] = length.bytes;
}

void MpiOutbox::send_part(int peer, ConstBytes part, const Kept& kept) {
  for (size_t at = 0; at < part.size(); at += terms_.chunk)
    start(peer, part.subspan(at, std::min(terms_.chunk, part.size() - at)), kept);
  open_[static_cast<size_t>(peer)] -= part.size();
}

void MpiOutbox::give_up_open(int peer) {
  if (std::exchange(open_[static_cast<size_t>(peer)], 0) > 0) start(peer, {}, nullptr);
}

void MpiOutbox::start(int peer, ConstBytes bytes, const Kept& kept) {
  const MpiAddress& to = peers_[static_cast<size_t>(peer)];
  const int code = under_way_.begin({peer, bytes.size(), kept}, [&](MPI_Request* request) {
    return MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to.rank, to.tag, comm_,
                     request);
  });
  check_mpi_with(peer, code, "a send to");
  unsent_of(kept) += bytes.size();
}

void MpiOutbox::progress() {
  int failure = MPI_SUCCESS, peer = 0;
  under_way_.test([&](Sending& one, const MPI_Status&, int code) {
    if (code != MPI_SUCCESS) {
      failure = code;
      peer = one.peer;
    }
    unsent_of(one.kept) -= one.bytes;
  });
  if (under_way_.empty()) announced_->clear();
  check_mpi_with(peer, failure, "a send to");
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
    if (each.kept) bytes += each.kept->leak();
  if (!under_way_.empty()) {
    bytes += announced_->size() * sizeof(Announcement);
    static_cast<void>(announced_.release());
  }
  return bytes;
}

}  // namespace sparsecoll
