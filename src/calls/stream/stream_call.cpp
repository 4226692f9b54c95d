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

/// The head of every message. A message of unknown size is announced by a head alone.
struct Announcement {
  Stamp stamp;
  uint64_t bytes;  ///< size of the message
  uint64_t reserved[5];
};
static_assert(sizeof(Announcement) == kHeadroom);

/// Returns whether the message that is sent must be announced.
bool announces(const Transfer& transfer) {
  return transfer.out.data && transfer.out.agreed_bytes == kUnknownSize;
}

/// Returns whether the message that is received is announced.
bool receives_announcement(const Transfer& transfer) { return transfer.in_bound == kUnknownSize; }

Announcement announcement_at(const std::byte* at) {
  Announcement announcement;
  std::memcpy(&announcement, at, sizeof announcement);
  return announcement;
}

}  // namespace

StreamCall::StreamCall(const StreamResources& resources, const CallParameters& parameters,
                       const CallIdentity& identity, uint64_t number)
    : resources_(resources),
      parameters_(parameters),
      identity_(identity),
      stamp_{number, identity.descriptor.hash()} {}

Kernels& StreamCall::kernels() {
  return resources_.device.kernels(DataType::float32, IndexType::index32, 1);
}

void StreamCall::exchange_each(std::span<Transfer> transfers,
                               FunctionRef<void(size_t transfer)> on_message) {
  if (transfers.empty()) return;
  {
    const Stopwatch watch(stats(), Phase::exchange);
    std::vector<StreamMessage> messages;
    add_first_messages(transfers, messages);
    exchange_messages(messages);
    receive_first_messages(transfers, messages);
    exchange_announced(transfers);
  }
  visit_received(transfers, on_message);
}

std::shared_ptr<Event> StreamCall::exchange_concurrently(std::span<Transfer> transfers) {
  const Stopwatch watch(stats(), Phase::exchange);
  std::vector<StreamMessage> messages;
  add_first_messages(transfers, messages);
  auto end = resources_.device.run_concurrently([&] {
    exchange_messages(messages);
    receive_first_messages(transfers, messages);
  });
  resources_.watchdog.add_concurrent_work(end);
  return end;
}

void StreamCall::wait_for(const Event& event) {
  if (!resources_.device.captured()) {
    resources_.watchdog.start_exchanges(resources_.device);  // this call's time begins
    return resources_.device.wait_for(event);
  }
  // A CUDA graph cannot wait for events outside of it.
  while (!resources_.device.passed(event)) {
    if (deadline().passed())
      fail(sparsecollTimeout, "deadline passed, messages of earlier steps have not come");
    resources_.watchdog.check();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

size_t StreamCall::used(const Packet& packet) {
  return packet.used ? kernels().read(packet.used) : packet.bound;
}

std::byte* StreamCall::stamped_on_host(const Packet& packet) {
  const bool with_payload = packet.agreed_bytes != kUnknownSize;
  const Announcement announcement{stamp_, with_payload ? packet.agreed_bytes : used(packet), {}};
  const size_t bytes = sizeof announcement + (with_payload ? packet.agreed_bytes : 0);
  const auto room = resources_.arena.take_span<std::byte>(bytes);
  std::memcpy(room.data(), &announcement, sizeof announcement);
  if (with_payload && packet.bound > 0)
    std::memcpy(room.data() + sizeof announcement, packet.data, packet.bound);
  return room.data();
}

std::byte* StreamCall::room_for_stamp(const Packet& packet) {
  if (packet.bound >= packet.agreed_bytes) return packet.data - kHeadroom;
  // The receiver expects more bytes than the packet has memory for.
  std::byte* const room = kernels().bytes(kHeadroom + packet.agreed_bytes);
  kernels().copy(packet.data, packet.bound, room + kHeadroom);
  return room;
}

void StreamCall::add_first_messages(std::span<Transfer> transfers,
                                    std::vector<StreamMessage>& messages) {
  std::vector<std::byte*> to_stamp;
  for (const Transfer& transfer : transfers) {
    if (transfer.out.data) {
      const bool host = announces(transfer) || transfer.message_memory == MessageMemory::host;
      std::byte* const at = host ? stamped_on_host(transfer.out) : room_for_stamp(transfer.out);
      const size_t bytes = kHeadroom + (announces(transfer) ? 0 : transfer.out.agreed_bytes);
      messages.push_back(
          {transfer.peer, true, host ? MessageMemory::host : MessageMemory::backend, at, bytes});
      // One message may go to several peers.
      if (!host && (to_stamp.empty() || to_stamp.back() != at)) to_stamp.push_back(at);
    }
    if (transfer.in_bound > 0) {
      const bool host =
          receives_announcement(transfer) || transfer.message_memory == MessageMemory::host;
      messages.push_back({transfer.peer, false, host ? MessageMemory::host : MessageMemory::backend,
                          transfer.into,
                          kHeadroom + (receives_announcement(transfer) ? 0 : transfer.in_bound)});
    }
  }
  if (!to_stamp.empty()) resources_.device.put_stamps(to_stamp, stamp_);
}

void StreamCall::receive_first_messages(std::span<Transfer> transfers,
                                        std::span<const StreamMessage> messages) {
  std::vector<StampedMessage> on_device;
  auto message = messages.begin();
  for (Transfer& transfer : transfers) {
    if (transfer.out.data) ++message;
    if (transfer.in_bound == 0) continue;
    if (message->message_memory == MessageMemory::backend)
      on_device.push_back({message->at, transfer.peer});
    else if (const Stamp got = announcement_at(message->at).stamp; got != stamp_)
      refuse(got, transfer.peer);
    const size_t bytes =
        receives_announcement(transfer) ? announcement_at(message->at).bytes : transfer.in_bound;
    // Only the size of an announced message has arrived. exchange_announced() receives the
    // contents.
    transfer.in = {message->at + kHeadroom, bytes};
    ++message;
  }
  if (!on_device.empty())
    resources_.device.check_stamps(on_device, stamp_, resources_.report.alarm);
}

void StreamCall::exchange_announced(std::span<Transfer> transfers) {
  std::vector<StreamMessage> messages;
  std::vector<Transfer*> to;
  for (Transfer& transfer : transfers) {
    if (const size_t bytes = announces(transfer) ? used(transfer.out) : 0; bytes > 0)
      messages.push_back({transfer.peer, true, transfer.message_memory, transfer.out.data, bytes});
    to.resize(messages.size());
    if (!receives_announcement(transfer)) continue;
    messages.push_back(
        {transfer.peer, false, transfer.message_memory, nullptr, transfer.in.size()});
    if (transfer.in.empty()) messages.pop_back();
    to.resize(messages.size(), &transfer);
  }
  if (messages.empty()) return;
  exchange_messages(messages);
  for (size_t p = 0; p < messages.size(); ++p)
    if (to[p]) to[p]->in = {messages[p].at, messages[p].bytes};
}

void StreamCall::exchange_messages(std::span<StreamMessage> messages) {
  size_t up = 0, down = 0;
  const size_t sent_before = stats().bytes_sent;
  for (const StreamMessage& message : messages)
    if (message.message_memory == MessageMemory::host)
      (message.sends ? up : down) += align_up(message.bytes);
  const auto staged = resources_.arena.take_span<std::byte>(up);
  for (size_t at = 0; const StreamMessage& message : messages) {
    if (message.message_memory == MessageMemory::backend || !message.sends) continue;
    std::memcpy(&staged[at], message.at, message.bytes);
    at += align_up(message.bytes);
  }
  const std::byte* from = up > 0 ? kernels().upload(staged) : nullptr;
  std::byte* const received = kernels().bytes(down);
  std::byte* to = received;
  std::vector<StreamTransfer> stream_transfers;
  for (StreamMessage& message : messages) {
    const bool host = message.message_memory == MessageMemory::host;
    if (message.sends) {
      stream_transfers.push_back(
          {message.peer, {host ? from : message.at, message.bytes}, {}, true, false});
      if (host) from += align_up(message.bytes);
      stats().bytes_sent += message.bytes;
      ++stats().messages_sent;
    } else {
      if (host)
        message.at = to;
      else if (!message.at)
        message.at = kernels().bytes(message.bytes);
      stream_transfers.push_back({message.peer, {}, {message.at, message.bytes}, false, true});
      if (host) to += align_up(message.bytes);
      stats().bytes_received += message.bytes;
    }
  }
  resources_.watchdog.start_exchanges(resources_.device);
  resources_.device.timed("exchange", stats().bytes_sent - sent_before, [&] {
    resources_.transport.exchange(stream_transfers, resources_.device.stream(), deadline());
  });
  if (down == 0) return;
  const Bytes on_host(resources_.arena.take<std::byte>(down), down);
  kernels().download(received, on_host);
  resources_.watchdog.check();  // an interrupted exchange has received nothing
  for (StreamMessage& message : messages)
    if (message.message_memory == MessageMemory::host && !message.sends)
      message.at = on_host.data() + (message.at - received);
}

void StreamCall::reduce_scatter_in_node(const void* in, size_t shares, size_t count, DataType type,
                                        void* out) {
  const Stopwatch watch(stats(), Phase::exchange);
  // In a ring a rank sends and receives this many bytes, in at least one message each way.
  const size_t bytes = (shares - 1) * count * size_of(type);
  stats().bytes_sent += bytes;
  stats().bytes_received += bytes;
  stats().messages_sent += shares - 1;
  resources_.watchdog.start_exchanges(resources_.device);
  resources_.device.timed("reduce-scatter", bytes, [&] {
    resources_.transport.reduce_scatter(in, out, count, type, resources_.device.stream(),
                                        deadline());
  });
}

void StreamCall::refuse(const Stamp& got, int peer) const {
  fail(sparsecollRemoteError, "rank ", peer, " made another call: expected number ",
       stamp_.sequence, " with hash ", stamp_.hash, ", got ", got.sequence, " with ", got.hash);
}

void StreamCall::agree() {
  if (!compared_) compare_arguments(nullptr);
}

// The host has waited for the messages that it receives. A later call reports errors of the other
// messages.
void StreamCall::confirm() { resources_.watchdog.check(); }

void StreamCall::confirm_counts(Kernels&, const CallCounts& counts) {
  CallCounts of_verb = counts;
  of_verb.adds = std::exchange(counted_, true);
  resources_.device.add_counts(of_verb, resources_.report);
  stats().counts_on_device = true;
}

}  // namespace sparsecoll
