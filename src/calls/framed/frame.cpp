// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/framed/frame.hpp"

#include <cstring>

#include "core/checksum.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

constexpr uint32_t kFrameMagic = 0x46435053;  // "SPCF"
constexpr uint16_t kFrameVersion = 2;

uint64_t header_checksum(FrameHeader header) {
  header.checksum = 0;
  return mix(checksum(std::as_bytes(std::span(&header, 1))));
}

/// Returns whether the checksum of a header covers the payload.
bool covers_payload(const FrameHeader& header) {
  return header.tail == 0 && header.unsummed == Unsummed::no;
}

/// Returns the checksum of the header and of a payload that has none of its own. `sent_before` is
/// an earlier header in front of the same payload, or null.
uint64_t frame_checksum(const FrameHeader& header, ConstBytes payload,
                        const std::byte* sent_before = nullptr) {
  const uint64_t own = header_checksum(header);
  if (!covers_payload(header)) return own;
  FrameHeader known{};
  if (sent_before) std::memcpy(&known, sent_before, sizeof known);
  const bool is_known = sent_before && covers_payload(known);
  return own + (is_known ? known.checksum - header_checksum(known) : checksum(payload));
}

uint64_t tail_of(const Frame& frame) {
  uint64_t tail;
  std::memcpy(&tail, frame.buffer.data() + frame.buffer.size() - sizeof tail, sizeof tail);
  return tail;
}

}  // namespace

GossipHeader gossip_header(const Frame& frame) {
  GossipHeader header;
  std::memcpy(&header, frame.payload().data(), sizeof header);
  return header;
}

void put_frame_header(FrameHeader header, const Framed& payload, bool with_checksum,
                      std::byte* head) {
  header.magic = kFrameMagic;
  header.version = kFrameVersion;
  header.payload = payload.bytes.size();
  if (with_checksum) header.checksum = frame_checksum(header, payload.bytes, payload.sent_before);
  std::memcpy(head, &header, sizeof header);
}

void check_frame(const Frame& frame, const ExpectedFrame& expected) {
  const int peer = expected.peer;
  const FrameHeader& header = frame.header;
  const auto damaged = [&](const char* what, uint64_t wanted, uint64_t got) {
    fail(sparsecollRemoteError, "a message of rank ", peer, " is damaged: ", what, " expected ",
         wanted, ", got ", got);
  };
  const uint64_t rest = frame.size() - sizeof header;
  if (header.magic != kFrameMagic) damaged("magic", kFrameMagic, header.magic);
  if (header.version != kFrameVersion) damaged("version", kFrameVersion, header.version);
  if (header.tail > 0 && (header.tail != sizeof(uint64_t) || header.tail > rest))
    damaged("bytes behind the payload", 0, header.tail);
  const uint64_t payload = rest - header.tail;
  if (header.payload != payload) damaged("payload bytes", payload, header.payload);
  const bool may_lack_sum = may_be_unsummed(frame.kind()) && header.tail == 0;
  if (header.unsummed > (may_lack_sum ? Unsummed::shared_memory : Unsummed::no))
    damaged("payload without a checksum", 0, static_cast<uint64_t>(header.unsummed));
  if (header.marked > 1) damaged("mark", 1, header.marked);
  if (frame.is_on_device() &&
      (header.unsummed != Unsummed::on_device || frame.device_payload.size() != payload))
    damaged("device bytes", 0, frame.device_payload.size());
  if (expected.has_checksum) {
    const uint64_t known = frame_checksum(header, frame.payload());
    if (header.checksum != known) damaged("checksum", known, header.checksum);
    const uint64_t content = header.tail > 0 ? checksum(frame.payload()) : 0;
    if (header.tail > 0 && tail_of(frame) != content) damaged("checksum", content, tail_of(frame));
  }
  if (header.ordinal != expected.ordinal)
    fail(sparsecollRemoteError, "messages of rank ", peer, " were lost: expected number ",
         expected.ordinal, ", got ", header.ordinal);
  if (header.kind < 1 || header.kind > 4) damaged("kind", 1, header.kind);
  if (frame.kind() == FrameKind::gossip && payload < sizeof(GossipHeader))
    damaged("payload bytes", sizeof(GossipHeader), payload);
  const auto ranks = static_cast<uint32_t>(expected.ranks);
  if (header.covered_first >= ranks) damaged("covered rank", ranks - 1, header.covered_first);
  if (header.covered_count > ranks) damaged("covered ranks", ranks, header.covered_count);
  // The sender of a call knows at least that it makes the call itself.
  const bool agrees = frame.kind() == FrameKind::data || frame.kind() == FrameKind::abandon;
  const auto sender = static_cast<uint32_t>(peer);
  const uint32_t own = (sender + ranks - header.covered_first) % ranks;
  if (agrees && own >= header.covered_count)
    damaged("covered ranks", own + 1, header.covered_count);
}

}  // namespace sparsecoll
