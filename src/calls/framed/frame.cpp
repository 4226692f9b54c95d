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

/// Of the header and, where it has no checksum of its own, the payload.
uint64_t frame_checksum(const FrameHeader& header, ConstBytes payload) {
  const uint64_t own = header_checksum(header);
  return header.tail > 0 || header.hidden ? own : own + checksum(payload);
}

/// The same by another header in front of the same payload.
uint64_t twin_checksum(const FrameHeader& header, const std::byte* twin) {
  FrameHeader known;
  std::memcpy(&known, twin, sizeof known);
  return known.checksum - header_checksum(known) + header_checksum(header);
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
  if (with_checksum)
    header.checksum =
        payload.twin ? twin_checksum(header, payload.twin) : frame_checksum(header, payload.bytes);
  std::memcpy(head, &header, sizeof header);
}

void check_frame(const Frame& frame, const ExpectedFrame& terms) {
  const int peer = terms.peer;
  const FrameHeader& header = frame.header;
  const auto damaged = [&](const char* what, uint64_t expected, uint64_t got) {
    fail(sparsecollRemoteError, "a message of rank ", peer, " is damaged: ", what, " expected ",
         expected, ", got ", got);
  };
  const uint64_t rest = frame.size() - sizeof header;
  if (header.magic != kFrameMagic) damaged("magic", kFrameMagic, header.magic);
  if (header.version != kFrameVersion) damaged("version", kFrameVersion, header.version);
  if (header.tail > 0 && (header.tail != sizeof(uint64_t) || header.tail > rest))
    damaged("bytes behind the payload", 0, header.tail);
  const uint64_t payload = rest - header.tail;
  if (header.payload != payload) damaged("payload bytes", payload, header.payload);
  // What this rank reads itself is seen.
  const bool may_hide = frame.kind() == FrameKind::data && header.tail == 0;
  if (header.hidden > (may_hide ? 1 : 0)) damaged("hidden payload", 0, header.hidden);
  if (frame.is_hidden() && (!header.hidden || frame.hidden.size() != payload))
    damaged("hidden bytes", 0, frame.hidden.size());
  if (terms.has_checksum) {
    const uint64_t expected = frame_checksum(header, frame.payload());
    if (header.checksum != expected) damaged("checksum", expected, header.checksum);
    const uint64_t content = header.tail > 0 ? checksum(frame.payload()) : 0;
    if (header.tail > 0 && tail_of(frame) != content) damaged("checksum", content, tail_of(frame));
  }
  if (header.ordinal != terms.ordinal)
    fail(sparsecollRemoteError, "messages of rank ", peer, " were lost: expected number ",
         terms.ordinal, ", got ", header.ordinal);
  if (header.kind < 1 || header.kind > 4) damaged("kind", 1, header.kind);
  if (frame.kind() == FrameKind::gossip && payload < sizeof(GossipHeader))
    damaged("payload bytes", sizeof(GossipHeader), payload);
  const auto ranks = static_cast<uint32_t>(terms.ranks);
  if (header.covered_first >= ranks) damaged("covered rank", ranks - 1, header.covered_first);
  if (header.covered_count > ranks) damaged("covered ranks", ranks, header.covered_count);
  // Who sends in a call knows at least of itself.
  const bool agrees = frame.kind() == FrameKind::data || frame.kind() == FrameKind::abandon;
  const auto sender = static_cast<uint32_t>(peer);
  const uint32_t own = (sender + ranks - header.covered_first) % ranks;
  if (agrees && own >= header.covered_count)
    damaged("covered ranks", own + 1, header.covered_count);
}

}  // namespace sparsecoll
