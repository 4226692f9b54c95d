// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi_inbox.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "transport/mpi_eager.hpp"
#include "transport/mpi_duplicate.hpp"

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
    : own_(own), pool_(pool), under_way_(ranks.size()) {
  int size = 0;
  check_mpi(MPI_Comm_size(own.comm, &size), "MPI_Comm_size");
  peers_.assign(static_cast<size_t>(size), kNobody);
  for (size_t peer = 0; peer < ranks.size(); ++peer)
    peers_[static_cast<size_t>(ranks[peer])] = static_cast<int>(peer);
}

void MpiInbox::set_device_memory(std::shared_ptr<Memory> device) {
  device_pool_ = std::make_unique<DevicePool>(std::move(device));
}

std::optional<ReceivedMessage> MpiInbox::poll() {
  while (std::optional<Matched> piece = match()) {
    Incoming* const target = unfinished(piece->peer);
    if (!target) {
      begin(*piece);
    } else if (target->announced) {
      take_size(*target, *piece);
    } else {
      take_chunk(*target, *piece);
    }
  }
  progress();
  for (auto each = incoming_.begin(); each != incoming_.end();) {
    if (!each->complete() || earlier_from(each)) {
      ++each;
      continue;
    }
    const bool given_up = each->given_up;
    ReceivedMessage arrived{each->peer, std::move(each->bytes), std::move(each->hidden)};
    each = incoming_.erase(each);
    if (!given_up) return arrived;
  }
  return std::nullopt;
}

size_t MpiInbox::abandon() noexcept {
  size_t bytes = 0;
  for (Incoming& each : incoming_)
    if (each.under_way > 0) bytes += each.bytes.leak() + each.hidden.leak();
  under_way_.forget();
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
  piece.source = status.MPI_SOURCE;
  piece.peer = peers_[static_cast<size_t>(piece.source)];
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

void MpiInbox::begin(Matched& first) {
  const auto bytes = static_cast<size_t>(first.bytes);
  const size_t more = eager_chunks_after(bytes), all = bytes + more * kEagerBytes;
  Incoming& target = incoming_.emplace_back(
      Incoming{first.peer, bytes == 0, bytes == 0 ? Buffer() : pool_.take(all)});
  take_chunk(target, first);
  await_eager_chunks(target, first.source, more);
}

void MpiInbox::await_eager_chunks(Incoming& target, int source, size_t pieces) {
  under_way_.reserve(pieces);
  for (size_t left = pieces; left > 0; --left) {
    std::byte* const at = target.bytes.data() + target.claimed;
    const auto receive = [&](MPI_Request* request) {
      return MPI_Irecv(at, static_cast<int>(kEagerBytes), MPI_BYTE, source, own_.tag, own_.comm,
                       request);
    };
    const int code = under_way_.begin({target.peer, &target, kEagerBytes, left == 1}, receive);
    check_mpi_peer(target.peer, code, "a receive from");
    target.claimed += kEagerBytes;
    ++target.under_way;
  }
}

void MpiInbox::take_size(Incoming& target, Matched& piece) {
  uint64_t size[2] = {};  // of all, and of what is hidden
  if (piece.bytes != sizeof size && piece.bytes != sizeof *size)
    damaged(piece.peer, "an announcement", sizeof *size, piece.bytes);
  check_mpi_peer(piece.peer,
                 MPI_Mrecv(size, piece.bytes, MPI_BYTE, &piece.message, MPI_STATUS_IGNORE),
                 "a receive from");
  if (size[1] > size[0])
    fail(sparsecollRemoteError, "rank ", piece.peer, " sent an announcement of ", size[0],
         " bytes, ", size[1], " of them hidden");
  make_room(target, {size[0], size[1]});
  target.announced = false;
}

void MpiInbox::make_room(Incoming& target, const MessageLength& length) {
  DevicePool* const device_pool = length.device_bytes < kHidden ? nullptr : device_pool_.get();
  if (device_pool) try {
      target.hidden = device_pool->pool.take(length.device_bytes);
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
  const auto receive = [&](MPI_Request* request) {
    return MPI_Imrecv(at, piece.bytes, MPI_BYTE, &piece.message, request);
  };
  const int code = under_way_.begin({piece.peer, &target, bytes, false}, receive);
  check_mpi_peer(piece.peer, code, "a receive from");
  ++target.under_way;
  target.claimed = target.given_up ? target.size() : target.claimed + bytes;
}

void MpiInbox::progress() {
  int failure = MPI_SUCCESS, peer = 0;
  size_t missing = 0;
  under_way_.test([&](Receiving& one, const MPI_Status& status, int code) {
    Incoming& message = *one.message;
    int bytes = 0;
    if (code == MPI_SUCCESS) code = MPI_Get_count(&status, MPI_BYTE, &bytes);
    const size_t less = one.most - static_cast<size_t>(bytes);
    --message.under_way;
    if (one.ends) {
      message.claimed -= less;
      message.bytes.shorten(message.claimed);
    }
    if (code != MPI_SUCCESS || (less > 0 && !one.ends)) {
      failure = code;
      peer = message.peer;
      missing = less;
    }
  });
  check_mpi_peer(peer, failure, "a receive from");
  if (missing > 0) damaged(peer, "a piece", kEagerBytes, static_cast<int>(kEagerBytes - missing));
}

bool MpiInbox::earlier_from(std::list<Incoming>::iterator message) {
  for (auto each = incoming_.begin(); each != message; ++each)
    if (each->peer == message->peer) return true;
  return false;
}

}  // namespace sparsecoll
