// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/framed/channel.hpp"

#include <algorithm>
#include <cstring>

#include "core/checksum.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

constexpr size_t kLongestNotice = 1000;
constexpr auto kPause = std::chrono::milliseconds(20);

}  // namespace

Channel::Channel(Transport& transport, Memory& memory, bool verify, size_t piece)
    : transport_(transport),
      memory_(memory),
      rank_(transport.rank()),
      size_(transport.size()),
      verify_(verify),
      piece_(piece),
      queues_(static_cast<size_t>(size_)),
      gossip_(static_cast<size_t>(size_)),
      sent_(static_cast<size_t>(size_)),
      received_(static_cast<size_t>(size_)) {}

void Channel::begin(uint64_t sequence) {
  current_ = sequence;
  ended_ = false;
  for (int peer = 0; peer < size_; ++peer)
    if (!queue(peer).empty() && ends_call(queue(peer).back()))
      throw_notice(peer, queue(peer).back());
}

void Channel::end() {
  ended_ = true;
  transport_.set_completed(current_);
}

void Channel::put_header(int peer, FrameHeader header, const Framed& payload, std::byte* head) {
  header.ordinal = sent_[static_cast<size_t>(peer)];
  put_frame_header(header, payload, has_checksum(header), head);
}

void Channel::send(int peer, FrameHeader header, const Payload& payload) {
  const size_t bytes = sizeof header + payload.bytes;
  std::byte* const head = payload.data - sizeof header;
  put_header(peer, header,
             {{payload.data, payload.bytes}, payload.twin ? payload.twin - sizeof header : nullptr},
             head);
  const MessageTrace::Send sent(trace(), {"message", peer, header.sequence, bytes});
  transport_.send(peer, {head, bytes});
  ++sent_[static_cast<size_t>(peer)];
}

void Channel::send_long(int peer, FrameHeader header, const LongPayload& payload) {
  const bool seen = payload.tail != nullptr;
  header.tail = seen ? sizeof *payload.tail : 0;
  header.hidden = seen ? 0 : 1;
  put_header(peer, header, {{payload.data, payload.bytes}}, payload.head);
  transport_.open(peer,
                  {sizeof header + payload.bytes + header.tail, seen ? size_t{0} : payload.bytes});
  if (seen) *payload.tail = mix(payload.bytes);
  if (!seen) {
    const MessageTrace::Send sent(trace(), {"piece", peer, header.sequence, sizeof header});
    transport_.send_chunk(peer, {payload.head, sizeof header});
  }
  for (size_t at = 0; at < payload.bytes; at += piece_) {
    ConstBytes piece(payload.data + at, std::min(piece_, payload.bytes - at));
    payload.wait(piece.data() + piece.size());
    if (aborted_) fail(sparsecollInvalidUsage, "aborted by sparsecollCommAbort");
    if (seen && has_checksum(header)) *payload.tail += checksum_of_part(piece, at);
    if (seen && at == 0) piece = {payload.head, sizeof header + piece.size()};
    {
      const MessageTrace::Send sent(trace(), {"piece", peer, header.sequence, piece.size()});
      transport_.send_chunk(peer, piece);
    }
    pump([](int, const Frame&) {});  // who waits looks at all that has come
  }
  if (seen) {
    const MessageTrace::Send sent(trace(), {"piece", peer, header.sequence, sizeof *payload.tail});
    transport_.send_chunk(peer, std::as_bytes(std::span(payload.tail, 1)));
  }
  ++sent_[static_cast<size_t>(peer)];
}

void Channel::hand_over(int peer, FrameHeader header, Buffer message) {
  put_header(peer, header, {ConstBytes(message.data(), message.size()).subspan(sizeof header)},
             message.data());
  const MessageTrace::Send sent(trace(), {"message", peer, header.sequence, message.size()});
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

void Channel::pump(FunctionRef<void(int peer, const Frame&)> visit) {
  while (auto arrived = transport_.poll()) {
    const int peer = arrived->peer;
    Frame frame{{}, std::move(arrived->bytes), std::move(arrived->device_tail)};
    if (frame.buffer.size() < sizeof(FrameHeader))
      fail(sparsecollRemoteError, "a message of rank ", peer, " is damaged: expected at least ",
           sizeof(FrameHeader), " bytes, got ", frame.buffer.size());
    std::memcpy(&frame.header, frame.buffer.data(), sizeof(FrameHeader));
    uint64_t& received = received_[static_cast<size_t>(peer)];
    check_frame(frame, {peer, size_, received, has_checksum(frame.header)});
    ++received;
    if (trace_) trace_->arrived({"message", peer, frame.header.sequence, frame.size()});
    if (ends_call(frame)) throw_notice(peer, frame);
    const bool gossips = frame.kind() == FrameKind::gossip;
    auto& place = gossips ? gossip(peer) : queue(peer);
    place.push_back(std::move(frame));
    visit(peer, place.back());
    if (gossips && !wanted(place.back())) place.pop_back();
  }
  if (trace_) trace_->look();
}

void Channel::open(uint64_t state) {
  states_.push_back(state);
  newest_state_ = state;
}

void Channel::close(uint64_t state) noexcept {
  std::erase(states_, state);
  for (auto& frames : gossip_)
    std::erase_if(frames, [&](const Frame& each) { return gossip_header(each).state == state; });
}

bool Channel::wanted(const Frame& gossip) const {
  // A peer may send the first message of a state before this rank has opened it.
  const uint64_t state = gossip_header(gossip).state;
  return state > newest_state_ || std::ranges::binary_search(states_, state);
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
      // This rank is failing already; peers that do not hear of it find out by their deadlines.
    }
  }
}

size_t Channel::leak() noexcept {
  size_t bytes = 0;
  for (Block& notice : notices_) bytes += notice.leak();
  return bytes;
}

void Channel::uncover(Frame& frame) {
  Buffer whole = transport_.pool().take(sizeof(FrameHeader) + frame.hidden.size());
  frame.hidden.read(whole.data() + sizeof(FrameHeader));
  frame.buffer = std::move(whole);
  frame.hidden = {};
}

void Channel::abort() noexcept {
  aborted_ = true;
  transport_.interrupt();
}

void Channel::pause(const Deadline& deadline, FunctionRef<std::string()> missing) {
  if (aborted_) fail(sparsecollInvalidUsage, "aborted by sparsecollCommAbort");
  if (deadline.passed()) fail(sparsecollTimeout, "deadline passed, ", missing());
  transport_.idle(deadline.within(kPause));
}

void Channel::flush_until_0(const Deadline& deadline, size_t (Transport::*unsent)()) {
  while ((transport_.*unsent)() > 0) {
    pump([](int, const Frame&) {});
    if ((transport_.*unsent)() == 0) break;
    pause(deadline, [&] {
      std::vector<int> slow;
      for (int peer = 0; peer < size_; ++peer)
        if (transport_.unsent_to(peer) > 0) slow.push_back(peer);
      return text((transport_.*unsent)(), " bytes that this rank sent were not taken by ",
                  name_ranks(slow));
    });
  }
  if (trace_) trace_->look();
}

void Channel::flush(const Deadline& deadline) { flush_until_0(deadline, &Transport::unsent); }

void Channel::flush_handed_over(const Deadline& deadline) {
  flush_until_0(deadline, &Transport::unsent_handed_over);
}

std::vector<int> Channel::gone(const std::vector<int>& peers) const {
  std::vector<int> gone;
  for (const int peer : peers)
    if (transport_.gone(peer)) gone.push_back(peer);
  return gone;
}

void Channel::give_up_on(const std::vector<int>& gone, const std::vector<int>& awaited) const {
  for (const int peer : gone)
    if (std::find(awaited.begin(), awaited.end(), peer) != awaited.end())
      fail(sparsecollRemoteError, "rank ", peer,
           " has destroyed or aborted its communicator, or failed");
}

std::string name_ranks(const std::vector<int>& ranks) {
  std::string names = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) names += i + 1 == ranks.size() ? " and " : ", ";
    names += std::to_string(ranks[i]);
  }
  return names;
}

}  // namespace sparsecoll
