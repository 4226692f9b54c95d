// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/framed/channel.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/checksum.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

constexpr size_t kLongestNotice = 1000;

// The most frames that one progress() receives, or a few from each rank if that is more.
constexpr size_t kMostFrames = 1024;
constexpr size_t kManyBytes = size_t{1} << 28;

}  // namespace

Channel::Channel(Transport& transport, Memory& memory, bool verify, const ChannelLimits& limits)
    : transport_(transport),
      memory_(memory),
      rank_(transport.rank()),
      size_(transport.size()),
      crowded_(transport.cpu_share().is_crowded()),
      verify_(verify),
      limits_(limits),
      queues_(static_cast<size_t>(size_)),
      queued_((static_cast<size_t>(size_) + 63) / 64),
      gossip_(static_cast<size_t>(size_)),
      sent_(static_cast<size_t>(size_)),
      received_(static_cast<size_t>(size_)) {
  awaited_.reserve(static_cast<size_t>(size_));
  transport_.pool().set_peers(static_cast<size_t>(size_));
}

void Channel::begin(uint64_t sequence) {
  current_ = sequence;
  ended_ = false;
  for_each_queued([this](int peer) {
    if (ends_call(queue(peer).back())) throw_notice(peer, queue(peer).back());
  });
}

void Channel::end() {
  ended_ = true;
  transport_.set_completed(current_);
}

void Channel::put_header(int peer, FrameHeader header, const Framed& payload, std::byte* head) {
  header.ordinal = sent_[static_cast<size_t>(peer)];
  put_frame_header(header, payload, has_checksum(header), head);
}

MessageTrace::TracedMessage Channel::traced(const char* name, int peer, const FrameHeader& header,
                                            size_t bytes) const {
  return {name, peer, header.sequence, sent_[static_cast<size_t>(peer)], bytes};
}

void Channel::send(int peer, FrameHeader header, const Payload& payload) {
  const size_t bytes = sizeof header + payload.bytes;
  std::byte* const head = payload.data - sizeof header;
  if (goes_unsummed(peer, header, payload.bytes)) header.unsummed = Unsummed::shared_memory;
  put_header(peer, header,
             {{payload.data, payload.bytes},
              payload.sent_before ? payload.sent_before - sizeof header : nullptr},
             head);
  const MessageTrace::Send sent(trace(), traced("message", peer, header, bytes));
  transport_.send(peer, {head, bytes});
  ++sent_[static_cast<size_t>(peer)];
}

void Channel::send_long(int peer, FrameHeader header, const LongPayload& payload) {
  const bool on_device = payload.tail == nullptr;
  if (on_device)
    header.unsummed = Unsummed::on_device;
  else if (goes_unsummed(peer, header, payload.bytes))
    header.unsummed = Unsummed::shared_memory;
  else
    header.tail = sizeof *payload.tail;
  put_header(peer, header, {{payload.data, payload.bytes}}, payload.head);
  transport_.open(
      peer, {sizeof header + payload.bytes + header.tail, on_device ? payload.bytes : size_t{0}});
  if (header.tail > 0) *payload.tail = mix(payload.bytes);
  if (on_device) {
    const MessageTrace::Send sent(trace(), traced("piece", peer, header, sizeof header));
    transport_.send_chunk(peer, {payload.head, sizeof header});
  }
  for (size_t at = 0; at < payload.bytes; at += limits_.chunk) {
    ConstBytes chunk(payload.data + at, std::min(limits_.chunk, payload.bytes - at));
    payload.wait(chunk.data() + chunk.size());
    if (aborted_) fail(sparsecollInvalidUsage, "aborted by sparsecollCommAbort");
    if (header.tail > 0 && has_checksum(header)) *payload.tail += checksum_of_chunk(chunk, at);
    if (!on_device && at == 0) chunk = {payload.head, sizeof header + chunk.size()};
    {
      const MessageTrace::Send sent(trace(), traced("piece", peer, header, chunk.size()));
      transport_.send_chunk(peer, chunk);
    }
    progress();
  }
  if (header.tail > 0) {
    const MessageTrace::Send sent(trace(), traced("piece", peer, header, sizeof *payload.tail));
    transport_.send_chunk(peer, std::as_bytes(std::span(payload.tail, 1)));
  }
  ++sent_[static_cast<size_t>(peer)];
}

void Channel::hand_over(int peer, FrameHeader header, Buffer message) {
  const size_t waiting = transport_.waiting_for(peer) + message.capacity();
  if (waiting > limits_.waiting_gossip)
    fail(sparsecollRemoteError, "rank ", peer, " has not received gossip of ", waiting,
         " bytes that was sent to it; expected at most ", limits_.waiting_gossip);
  put_header(peer, header, {ConstBytes(message.data(), message.size()).subspan(sizeof header)},
             message.data());
  const MessageTrace::Send sent(trace(), traced("message", peer, header, message.size()));
  transport_.hand_over(peer, std::move(message));
  ++sent_[static_cast<size_t>(peer)];
}

void Channel::throw_notice(int peer, const Frame& frame) {
  const ConstBytes bytes = frame.payload();
  const std::string why(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string what =
      text("rank ", peer, " failed in call ", frame.header.sequence, ": ", why);
  if (frame.header.result == sparsecollTimeout) throw PeerTimeout(sparsecollRemoteError, what);
  throw Error(sparsecollRemoteError, what);
}

bool Channel::progress(FunctionRef<void(int peer, const Frame&)> on_frame) {
  // A peer can be one call ahead, so only few of its frames can be queued, except for gossip.
  const size_t few = 4 * static_cast<size_t>(size_);
  size_t frames = 0, bytes = 0;
  bool all = false;
  while (frames < std::max(few, kMostFrames) && (frames < few || bytes < kManyBytes)) {
    std::optional<ReceivedMessage> arrived = transport_.poll();
    all = !arrived;
    if (all) break;
    ++frames;
    bytes += arrived->bytes.size();
    receive(std::move(*arrived), on_frame);
  }
  if (trace_) trace_->poll();
  return all;
}

void Channel::receive(ReceivedMessage message, FunctionRef<void(int peer, const Frame&)> on_frame) {
  const int peer = message.peer;
  Frame frame{{}, std::move(message.bytes), std::move(message.device_tail)};
  if (frame.buffer.size() < sizeof(FrameHeader))
    fail(sparsecollRemoteError, "a message of rank ", peer, " is damaged: expected at least ",
         sizeof(FrameHeader), " bytes, got ", frame.buffer.size());
  std::memcpy(&frame.header, frame.buffer.data(), sizeof(FrameHeader));
  uint64_t& received = received_[static_cast<size_t>(peer)];
  check_frame(frame, {peer, size_, received, has_checksum(frame.header)});
  if (trace_)
    trace_->record_arrival({"message", peer, frame.header.sequence, received, frame.size()});
  ++received;
  if (ends_call(frame)) throw_notice(peer, frame);
  const bool gossips = frame.kind() == FrameKind::gossip;
  FrameQueue& frames = gossips ? gossip(peer) : queue(peer);
  frames.push_back(std::move(frame));
  if (!gossips) queued_[static_cast<size_t>(peer) / 64] |= uint64_t{1} << (peer % 64);
  on_frame(peer, frames.back());
  if (gossips) keep_gossip(peer);
}

void Channel::send_fatal(const Error& error) noexcept {
  FrameHeader header{};
  header.kind = static_cast<uint16_t>(FrameKind::fatal);
  header.sequence = ended_ ? current_ + 1 : current_;
  header.result = error.code();
  const size_t bytes = std::min(std::strlen(error.what()), kLongestNotice);
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    try {
      const Block& notice = notices_.emplace_back(memory_, sizeof header + bytes);
      std::memcpy(notice.data() + sizeof header, error.what(), bytes);
      send(peer, header, {notice.data() + sizeof header, bytes});
    } catch (const std::exception&) {
      // Nothing else can be done: this rank is failing already. Peers without a notice fail at
      // their deadlines.
    }
  }
}

size_t Channel::leak() noexcept {
  size_t bytes = 0;
  for (Block& notice : notices_) bytes += notice.leak();
  return bytes;
}

void Channel::copy_to_host(Frame& frame) {
  Buffer copy = transport_.pool().take(sizeof(FrameHeader) + frame.device_payload.size());
  frame.device_payload.read(copy.data() + sizeof(FrameHeader));
  frame.buffer = std::move(copy);
  frame.device_payload = {};
}

void Channel::abort() noexcept {
  aborted_ = true;
  transport_.interrupt();
}

}  // namespace sparsecoll
