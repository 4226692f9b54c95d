// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/stream/stream_call.hpp"

#include <cstring>
#include <thread>
#include <utility>

#include "calls/stream/stream_watchdog.hpp"
#include "core/arena.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

/// Where every message begins; that of unknown size is announced by nothing else.
struct Announcement {
  Stamp stamp;
  uint64_t bytes;
  uint64_t reserved[5];
};
static_assert(sizeof(Announcement) == kHeadroom);

bool announces(const Transfer& transfer) {
  return transfer.out.data && transfer.out.agreed == kUnknownSize;
}
bool hears(const Transfer& transfer) { return transfer.in_bound == kUnknownSize; }

Announcement announcement_at(const std::byte* at) {
  Announcement announcement;
  std::memcpy(&announcement, at, sizeof announcement);
  return announcement;
}

}  // namespace

StreamCall::StreamCall(const StreamResources& end, const Parameters& terms, Stats& stats)
    : end_(end), terms_(terms), stamp_{terms.number, terms.descriptor.hash()}, stats_(stats) {}

/// What moves bytes asks for no type.
Kernels& StreamCall::kernels() {
  return end_.device.kernels(DataType::float32, IndexType::index32);
}

void StreamCall::exchange_each(std::span<Transfer> transfers,
                               FunctionRef<void(size_t transfer)> on_message) {
  if (transfers.empty()) return;
  {
    const Stopwatch watch(stats_, Phase::exchange);
    std::vector<Piece> pieces;
    announce(transfers, pieces);
    move(pieces);
    take(transfers, pieces);
    send_announced(transfers);
  }
  tell_all(transfers, on_message);
}

std::shared_ptr<Event> StreamCall::exchange_concurrently(std::span<Transfer> transfers) {
  const Stopwatch watch(stats_, Phase::exchange);
  std::vector<Piece> pieces;
  announce(transfers, pieces);
  auto done = end_.device.run_concurrently([&] {
    move(pieces);
    take(transfers, pieces);
  });
  end_.watch.goes_on_beside(done);
  return done;
}

void StreamCall::wait_for(const Event& event) {
  if (!end_.device.captured()) {
    end_.watch.starts(end_.device);  // who is late now is late for this call
    return end_.device.wait_for(event);
  }
  // A graph cannot wait for what is not part of it.
  while (!end_.device.passed(event)) {
    if (terms_.deadline.passed())
      fail(sparsecollTimeout, "deadline passed, messages of earlier steps have not come");
    end_.watch.check();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

size_t StreamCall::used(const Packet& packet) {
  return packet.used ? kernels().read(packet.used) : packet.bound;
}

std::byte* StreamCall::stamped_on_host(const Packet& packet) {
  const bool whole = packet.agreed != kUnknownSize;
  const Announcement announcement{stamp_, whole ? packet.agreed : used(packet), {}};
  const size_t bytes = sizeof announcement + (whole ? packet.agreed : 0);
  const auto room = end_.arena.take_span<std::byte>(bytes);
  std::memcpy(room.data(), &announcement, sizeof announcement);
  if (whole && packet.bound > 0)
    std::memcpy(room.data() + sizeof announcement, packet.data, packet.bound);
  return room.data();
}

/// Sent from where it is, if there is as much as was agreed; stamped later.
std::byte* StreamCall::stamped_in_place(const Packet& packet) {
  if (packet.bound >= packet.agreed) return packet.data - kHeadroom;
  std::byte* const room = kernels().bytes(kHeadroom + packet.agreed);
  kernels().copy(packet.data, packet.bound, room + kHeadroom);
  return room;
}

/// What is sent and received first: whole messages of agreed size, announcements of others.
void StreamCall::announce(std::span<Transfer> transfers, std::vector<Piece>& pieces) {
  std::vector<std::byte*> in_place;
  for (const Transfer& transfer : transfers) {
    if (transfer.out.data) {
      const bool host = announces(transfer) || transfer.message_memory == MessageMemory::host;
      std::byte* const at = host ? stamped_on_host(transfer.out) : stamped_in_place(transfer.out);
      const size_t bytes = kHeadroom + (announces(transfer) ? 0 : transfer.out.agreed);
      pieces.push_back(
          {transfer.peer, true, host ? MessageMemory::host : MessageMemory::backend, at, bytes});
      // One message may go to several peers.
      if (!host && (in_place.empty() || in_place.back() != at)) in_place.push_back(at);
    }
    if (transfer.in_bound > 0) {
      const bool host = hears(transfer) || transfer.message_memory == MessageMemory::host;
      pieces.push_back({transfer.peer, false, host ? MessageMemory::host : MessageMemory::backend,
                        transfer.into, kHeadroom + (hears(transfer) ? 0 : transfer.in_bound)});
    }
  }
  if (!in_place.empty()) end_.device.put_stamps(in_place, stamp_);
}

void StreamCall::take(std::span<Transfer> transfers, std::span<const Piece> pieces) {
  std::vector<StampedMessage> unseen;
  auto piece = pieces.begin();
  for (Transfer& transfer : transfers) {
    if (transfer.out.data) ++piece;
    if (transfer.in_bound == 0) continue;
    if (piece->message_memory == MessageMemory::backend)
      unseen.push_back({piece->at, transfer.peer});
    else if (const Stamp got = announcement_at(piece->at).stamp; got != stamp_)
      refuse(got, transfer.peer);
    const size_t bytes = hears(transfer) ? announcement_at(piece->at).bytes : transfer.in_bound;
    transfer.in = {piece->at + kHeadroom, bytes};  // of what was only announced the size
    ++piece;
  }
  if (!unseen.empty()) end_.device.check_stamps(unseen, stamp_, end_.books.alarm);
}

void StreamCall::send_announced(std::span<Transfer> transfers) {
  std::vector<Piece> pieces;
  std::vector<Transfer*> to;
  for (Transfer& transfer : transfers) {
    if (const size_t bytes = announces(transfer) ? used(transfer.out) : 0; bytes > 0)
      pieces.push_back({transfer.peer, true, transfer.message_memory, transfer.out.data, bytes});
    to.resize(pieces.size());
    if (!hears(transfer)) continue;
    pieces.push_back({transfer.peer, false, transfer.message_memory, nullptr, transfer.in.size()});
    if (transfer.in.empty()) pieces.pop_back();
    to.resize(pieces.size(), &transfer);
  }
  if (pieces.empty()) return;
  move(pieces);
  for (size_t p = 0; p < pieces.size(); ++p)
    if (to[p]) to[p]->in = {pieces[p].at, pieces[p].bytes};
}

void StreamCall::move(std::span<Piece> pieces) {
  size_t up = 0, down = 0;
  const size_t sent_before = stats_.bytes_sent;
  for (const Piece& piece : pieces)
    if (piece.message_memory == MessageMemory::host)
      (piece.sends ? up : down) += align_up(piece.bytes);
  const auto staged = end_.arena.take_span<std::byte>(up);
  for (size_t at = 0; const Piece& piece : pieces) {
    if (piece.message_memory == MessageMemory::backend || !piece.sends) continue;
    std::memcpy(&staged[at], piece.at, piece.bytes);
    at += align_up(piece.bytes);
  }
  const std::byte* from = up > 0 ? kernels().upload(staged) : nullptr;
  std::byte* const landing = kernels().bytes(down);
  std::byte* to = landing;
  std::vector<StreamTransfer> stream_transfers;
  for (Piece& piece : pieces) {
    const bool host = piece.message_memory == MessageMemory::host;
    if (piece.sends) {
      stream_transfers.push_back(
          {piece.peer, {host ? from : piece.at, piece.bytes}, {}, true, false});
      if (host) from += align_up(piece.bytes);
      stats_.bytes_sent += piece.bytes;
      ++stats_.messages_sent;
    } else {
      if (host)
        piece.at = to;
      else if (!piece.at)
        piece.at = kernels().bytes(piece.bytes);
      stream_transfers.push_back({piece.peer, {}, {piece.at, piece.bytes}, false, true});
      if (host) to += align_up(piece.bytes);
      stats_.bytes_received += piece.bytes;
    }
  }
  end_.watch.starts(end_.device);
  end_.device.timed("exchange", stats_.bytes_sent - sent_before, [&] {
    end_.transport.exchange(stream_transfers, end_.device.stream(), terms_.deadline);
  });
  if (down == 0) return;
  const Bytes seen(end_.arena.take<std::byte>(down), down);
  kernels().download(landing, seen);
  end_.watch.check();  // what was interrupted has brought nothing
  for (Piece& piece : pieces)
    if (piece.message_memory == MessageMemory::host && !piece.sends)
      piece.at = seen.data() + (piece.at - landing);
}

void StreamCall::refuse(const Stamp& got, int peer) const {
  fail(sparsecollRemoteError, "rank ", peer, " made another call: expected number ",
       stamp_.sequence, " with hash ", stamp_.hash, ", got ", got.sequence, " with ", got.hash);
}

void StreamCall::agree() {
  if (!met_) meet_all(nullptr);
}

/// Whoever confirms has waited for all that came in, or will be told later.
void StreamCall::confirm() { end_.watch.check(); }

void StreamCall::settle(Kernels&, const CallCounts& counts) {
  CallCounts settlement = counts;
  settlement.adds = std::exchange(settled_, true);
  end_.device.add_counts(settlement, end_.books);
  stats_.settles = true;
}

}  // namespace sparsecoll
