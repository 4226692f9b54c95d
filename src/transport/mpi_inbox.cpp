// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi_inbox.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "transport/mpi_share.hpp"

namespace sparsecoll {

namespace {

constexpr int kNobody = -1;
constexpr size_t kHidden = size_t{1} << 16;  // bytes from which on they go to a device

[[noreturn]] void damaged(int peer, const char* what, size_t expected, int got) {
  fail(sparsecollRemoteError, "rank ", peer, " sent ", what, " of ", got, " bytes, expected ",
       expected);
}

}  // namespace

MpiInbox::MpiInbox(const Address& own, const std::vector<int>& ranks, Pool& pool)
    : own_(own), pool_(pool) {
  int size = 0;
  check_mpi(MPI_Comm_size(own.comm, &size), "MPI_Comm_size");
  peers_.assign(static_cast<size_t>(size), kNobody);
  for (size_t peer = 0; peer < ranks.size(); ++peer)
    peers_[static_cast<size_t>(ranks[peer])] = static_cast<int>(peer);
}

void MpiInbox::receive_into(std::shared_ptr<Memory> device) {
  landing_ = std::make_unique<Landing>(std::move(device));
}

std::optional<Arrived> MpiInbox::poll() {
  while (std::optional<Matched> piece = match()) {
    Incoming* target = unfinished(piece->peer);
    if (!target) {
      const auto bytes = static_cast<size_t>(piece->bytes);
      target = &incoming_.emplace_back(
          Incoming{piece->peer, bytes == 0, bytes == 0 ? Buffer() : pool_.take(bytes)});
      take_chunk(*target, *piece);
    } else if (target->announced) {
      take_size(*target, *piece);
    } else {
      take_chunk(*target, *piece);
    }
  }
  for (auto each = incoming_.begin(); each != incoming_.end(); ++each) {
    if (!complete(*each) || earlier_from(each)) continue;
    if (each->given_up) {
      incoming_.erase(each);
      return poll();
    }
    Arrived arrived{each->peer, std::move(each->bytes), std::move(each->hidden)};
    incoming_.erase(each);
    return arrived;
  }
  return std::nullopt;
}

size_t MpiInbox::abandon() noexcept {
  size_t bytes = 0;
  for (Incoming& each : incoming_)
    if (!each.pending.empty()) bytes += each.bytes.leak() + each.hidden.leak();
  incoming_.clear();
  return bytes;
}

/// Matches one message that MPI has for us.
std::optional<MpiInbox::Matched> MpiInbox::match() {
  int found = 0;
  Matched piece{};
  MPI_Status status;
  check_mpi(MPI_Improbe(MPI_ANY_SOURCE, own_.tag, own_.comm, &found, &piece.message, &status),
            "MPI_Improbe");
  if (!found) return std::nullopt;
  check_mpi(MPI_Get_count(&status, MPI_BYTE, &piece.bytes), "MPI_Get_count");
  piece.peer = peers_[static_cast<size_t>(status.MPI_SOURCE)];
  if (piece.peer == kNobody)
    fail(sparsecollRemoteError, "a message came from a rank that is not of this communicator");
  return piece;
}

MpiInbox::Incoming* MpiInbox::unfinished(int peer) {
  for (auto each = incoming_.rbegin(); each != incoming_.rend(); ++each)
    if (each->peer == peer)
      return each->announced || each->claimed < each->size() ? &*each : nullptr;
  return nullptr;
}

void MpiInbox::take_size(Incoming& target, Matched& piece) {
  uint64_t size[2] = {};  // of all, and of what is hidden
  if (piece.bytes != sizeof size && piece.bytes != sizeof *size)
    damaged(piece.peer, "an announcement", sizeof *size, piece.bytes);
  check_mpi_with(piece.peer,
                 MPI_Mrecv(size, piece.bytes, MPI_BYTE, &piece.message, MPI_STATUS_IGNORE),
                 "a receive from");
  if (size[1] > size[0])
    fail(sparsecollRemoteError, "rank ", piece.peer, " sent an announcement of ", size[0],
         " bytes, ", size[1], " of them hidden");
  make_room(target, {size[0], size[1]});
  target.announced = false;
}

void MpiInbox::make_room(Incoming& target, const Length& length) {
  Landing* const landing = length.hidden < kHidden ? nullptr : landing_.get();
  if (landing) try {
      target.hidden = landing->pool.take(length.hidden);
    } catch (const std::bad_alloc&) {
      // The host has room, perhaps.
    }
  target.bytes = pool_.take(length.bytes - target.hidden.size());
}

void MpiInbox::take_chunk(Incoming& target, Matched& piece) {
  const auto bytes = static_cast<size_t>(piece.bytes);
  const bool seen = target.claimed < target.bytes.size() || target.hidden.size() == 0;
  const size_t missing = (seen ? target.bytes.size() : target.size()) - target.claimed;
  if (bytes > missing) damaged(piece.peer, "a chunk", missing, piece.bytes);
  std::byte* const at = seen ? target.bytes.data() + target.claimed
                             : target.hidden.data() + (target.claimed - target.bytes.size());
  target.given_up = bytes == 0 && missing > 0;
  // Its place first: a request that is under way must not be lost for want of memory.
  MPI_Request& request = target.pending.emplace_back(MPI_REQUEST_NULL);
  check_mpi_with(piece.peer, MPI_Imrecv(at, piece.bytes, MPI_BYTE, &piece.message, &request),
                 "a receive from");
  target.claimed = target.given_up ? target.size() : target.claimed + bytes;
}

bool MpiInbox::complete(Incoming& message) {
  int failure = MPI_SUCCESS;
  std::erase_if(message.pending, [&](MPI_Request& request) {
    int done = 0;
    const int code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) failure = code;  // thrown when the list is whole again
    return done != 0 || code != MPI_SUCCESS;
  });
  check_mpi_with(message.peer, failure, "a receive from");
  return !message.announced && message.pending.empty() && message.claimed == message.size();
}

bool MpiInbox::earlier_from(std::deque<Incoming>::iterator message) {
  for (auto each = incoming_.begin(); each != message; ++each)
    if (each->peer == message->peer) return true;
  return false;
}

}  // namespace sparsecoll
