// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi_inbox.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "transport/mpi_duplicate.hpp"
#include "transport/mpi_eager.hpp"

namespace sparsecoll {

namespace {

constexpr int kNoPeer = -1;
constexpr int kMostMatches = 256;  // of one poll(), which must return even if peers never stop
constexpr int kShortBytes = 2048;  // MPI has received such a message when it reports it
constexpr size_t kMinDeviceBytes = size_t{1} << 16;  // smaller tails are received into host memory

/// Throws RemoteError because `peer` has sent an MPI message of the wrong size.
[[noreturn]] void damaged(int peer, const char* what, size_t expected, int got) {
  fail(sparsecollRemoteError, "rank ", peer, " sent ", what, " of ", got, " bytes, expected ",
       expected);
}

}  // namespace

MpiInbox::MpiInbox(const Address& own, const std::vector<int>& ranks, Pool& pool)
    : own_(own), pool_(pool), requests_(ranks.size()) {
  int size = 0;
  check_mpi(MPI_Comm_size(own.comm, &size), "MPI_Comm_size");
  peers_.assign(static_cast<size_t>(size), kNoPeer);
  for (size_t peer = 0; peer < ranks.size(); ++peer)
    peers_[static_cast<size_t>(ranks[peer])] = static_cast<int>(peer);
}

void MpiInbox::set_device_memory(std::shared_ptr<Memory> device) {
  device_pool_ = std::make_unique<DevicePool>(std::move(device));
}

bool MpiInbox::look() {
  match_arrived();
  progress();
  for (auto each = incoming_.begin(); each != incoming_.end(); ++each)
    if (each->complete() && !is_blocked(each)) return true;
  return false;
}

std::optional<ReceivedMessage> MpiInbox::poll() {
  // New messages are matched after those that are complete, so that incoming_ stays short.
  if (auto earlier = take_complete()) return earlier;
  match_arrived();
  progress();
  return take_complete();
}

void MpiInbox::match_arrived() {
  for (int matches = 0; matches < kMostMatches; ++matches) {
    std::optional<Matched> chunk = match();
    if (!chunk) return;
    Incoming* const target = unfinished(chunk->peer);
    if (!target) {
      begin_message(*chunk);
      // The caller gets this message before the next search, because a search takes time.
      if (chunk->bytes > 0 && chunk->bytes <= kShortBytes) return;
    } else if (target->announced) {
      receive_size(*target, *chunk);
    } else {
      receive_chunk(*target, *chunk);
    }
  }
}

std::optional<ReceivedMessage> MpiInbox::take_complete() {
  for (auto each = incoming_.begin(); each != incoming_.end();) {
    if (!each->complete() || is_blocked(each)) {
      ++each;
      continue;
    }
    const bool cancelled = each->cancelled;
    ReceivedMessage received{each->peer, std::move(each->bytes), std::move(each->device_tail)};
    each = incoming_.erase(each);
    if (!cancelled) return received;
  }
  return std::nullopt;
}

size_t MpiInbox::abandon() noexcept {
  size_t bytes = 0;
  for (Incoming& each : incoming_)
    if (each.pending > 0) bytes += each.bytes.leak() + each.device_tail.leak();
  requests_.forget();
  incoming_.clear();
  return bytes;
}

std::optional<MpiInbox::Matched> MpiInbox::match() {
  int found = 0;
  Matched matched{};
  MPI_Status status;
  check_mpi(MPI_Improbe(MPI_ANY_SOURCE, own_.tag, own_.comm, &found, &matched.message, &status),
            "MPI_Improbe");
  if (!found) return std::nullopt;
  check_mpi(MPI_Get_count(&status, MPI_BYTE, &matched.bytes), "MPI_Get_count");
  matched.source = status.MPI_SOURCE;
  matched.peer = peers_[static_cast<size_t>(matched.source)];
  if (matched.peer == kNoPeer)
    fail(sparsecollRemoteError, "received a message from a rank that is not in this communicator");
  return matched;
}

MpiInbox::Incoming* MpiInbox::unfinished(int peer) {
  for (auto each = incoming_.rbegin(); each != incoming_.rend(); ++each)
    if (each->peer == peer)
      return each->announced || each->matched < each->size() ? &*each : nullptr;
  return nullptr;
}

void MpiInbox::begin_message(Matched& first) {
  const auto bytes = static_cast<size_t>(first.bytes);
  const size_t more = eager_chunks_after(bytes), all = bytes + more * kEagerBytes;
  Incoming& target = incoming_.emplace_back(
      Incoming{first.peer, bytes == 0, bytes == 0 ? Buffer() : pool_.take(all)});
  receive_chunk(target, first);
  receive_eager_chunks(target, first.source, more);
}

void MpiInbox::receive_eager_chunks(Incoming& target, int source, size_t chunks) {
  requests_.reserve(chunks);
  for (size_t left = chunks; left > 0; --left) {
    std::byte* const at = target.bytes.data() + target.matched;
    const auto receive = [&](MPI_Request* request) {
      return MPI_Irecv(at, static_cast<int>(kEagerBytes), MPI_BYTE, source, own_.tag, own_.comm,
                       request);
    };
    const int code = requests_.start({target.peer, &target, kEagerBytes, left == 1}, receive);
    check_mpi_peer(target.peer, code, "a receive from");
    target.matched += kEagerBytes;
    ++target.pending;
  }
}

void MpiInbox::receive_size(Incoming& target, Matched& announcement) {
  uint64_t size[2] = {};  // number of all bytes, and of those that may be in device memory
  if (announcement.bytes != sizeof size && announcement.bytes != sizeof *size)
    damaged(announcement.peer, "an announcement", sizeof *size, announcement.bytes);
  check_mpi_peer(
      announcement.peer,
      MPI_Mrecv(size, announcement.bytes, MPI_BYTE, &announcement.message, MPI_STATUS_IGNORE),
      "a receive from");
  if (size[1] > size[0])
    fail(sparsecollRemoteError, "rank ", announcement.peer, " sent an announcement of ", size[0],
         " bytes, ", size[1], " of them in device memory");
  allocate(target, {size[0], size[1]});
  target.announced = false;
}

void MpiInbox::allocate(Incoming& target, const MessageLength& length) {
  DevicePool* const device_pool =
      length.device_bytes < kMinDeviceBytes ? nullptr : device_pool_.get();
  if (device_pool) try {
      target.device_tail = device_pool->pool.take(length.device_bytes);
    } catch (const std::bad_alloc&) {
      // No device memory is left, so the bytes are received into host memory.
    }
  target.bytes = pool_.take(length.bytes - target.device_tail.size());
}

void MpiInbox::receive_chunk(Incoming& target, Matched& chunk) {
  const auto bytes = static_cast<size_t>(chunk.bytes);
  const bool on_host = target.matched < target.bytes.size() || target.device_tail.size() == 0;
  const size_t missing = (on_host ? target.bytes.size() : target.size()) - target.matched;
  if (bytes > missing) damaged(chunk.peer, "a chunk", missing, chunk.bytes);
  std::byte* const at = on_host
                            ? target.bytes.data() + target.matched
                            : target.device_tail.data() + (target.matched - target.bytes.size());
  target.cancelled = bytes == 0 && missing > 0;
  const auto receive = [&](MPI_Request* request) {
    return MPI_Imrecv(at, chunk.bytes, MPI_BYTE, &chunk.message, request);
  };
  const int code = requests_.start({chunk.peer, &target, bytes, false}, receive);
  check_mpi_peer(chunk.peer, code, "a receive from");
  ++target.pending;
  target.matched = target.cancelled ? target.size() : target.matched + bytes;
}

void MpiInbox::progress() {
  int failure = MPI_SUCCESS, peer = 0;
  size_t missing = 0;
  requests_.test([&](Receiving& one, const MPI_Status& status, int code) {
    Incoming& message = *one.message;
    int bytes = 0;
    if (code == MPI_SUCCESS) code = MPI_Get_count(&status, MPI_BYTE, &bytes);
    const size_t shortfall = one.max_bytes - static_cast<size_t>(bytes);
    --message.pending;
    if (one.last_eager) {
      message.matched -= shortfall;
      message.bytes.shorten(message.matched);
    }
    if (code != MPI_SUCCESS || (shortfall > 0 && !one.last_eager)) {
      failure = code;
      peer = message.peer;
      missing = shortfall;
    }
  });
  check_mpi_peer(peer, failure, "a receive from");
  if (missing > 0)
    damaged(peer, "an eager chunk", kEagerBytes, static_cast<int>(kEagerBytes - missing));
}

bool MpiInbox::is_blocked(std::list<Incoming>::iterator message) {
  for (auto each = incoming_.begin(); each != message; ++each)
    if (each->peer == message->peer) return true;
  return false;
}

}  // namespace sparsecoll
