// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/memory.hpp"

namespace sparsecoll {

/// Why no checksum covers a payload.
enum class Unsummed : uint8_t {
  no = 0,             ///< a checksum covers it
  on_device = 1,      ///< it comes from memory of the sender's device: the host did not read it
  shared_memory = 2,  ///< it goes through memory that sender and receiver share
};

enum class FrameKind : uint16_t { data = 1, abandon = 2, fatal = 3, gossip = 4 };

/// The header in front of every message between ranks.
struct FrameHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t kind;
  uint64_t sequence;    ///< number of the collective call
  uint64_t descriptor;  ///< hash of the sender's arguments
  uint32_t
      covered_first;  ///< The sender knows that ranks [first, first + count) modulo P have made
  uint32_t covered_count;  ///< this call with this descriptor.
  uint64_t ordinal;        ///< number of frames that this sender sent to this receiver before
  uint64_t payload;        ///< bytes of the payload
  uint64_t checksum;       ///< checksum of the header (with 0 here) and the payload
  uint32_t result;         ///< sparsecollResult_t of a sender that has failed
  uint16_t tail;           ///< bytes behind the payload: 0, or 8 with the checksum of the payload,
                           ///< which `checksum` then leaves out
  Unsummed unsummed;       ///< why no checksum covers the payload
  uint8_t marked;          ///< 1: the call is marked (AgreedCall::mark)
};
static_assert(sizeof(FrameHeader) == 64);

/// A received frame.
struct Frame {
  FrameHeader header;
  Buffer buffer;               ///< header and payload
  Buffer device_payload = {};  ///< the payload, if it is in memory of this rank's device

  FrameKind kind() const { return static_cast<FrameKind>(header.kind); }
  bool is_on_device() const { return device_payload.size() > 0; }
  size_t size() const { return buffer.size() + device_payload.size(); }
  ConstBytes payload() const {
    if (is_on_device()) return {device_payload.data(), device_payload.size()};
    return ConstBytes(buffer.data(), buffer.size()).subspan(sizeof(FrameHeader), header.payload);
  }
};

/// The header in front of the payload of a gossip frame. Gossip is not bound to the call in which
/// it arrives. It stays in the channel until its state takes it.
struct GossipHeader {
  uint64_t state;  ///< number of the call that created the state
  uint64_t step;   ///< step of the sender
  double share;    ///< p_ji; gamma p_ji in compressed gossip
  double weight;   ///< the part of the sender's w that moves
};
static_assert(sizeof(GossipHeader) == 32);

GossipHeader gossip_header(const Frame& frame);

/// A payload that gets a header. `sent_before` is the header of an earlier frame with the same
/// payload, whose checksum is copied, or null.
struct Framed {
  ConstBytes bytes;
  const std::byte* sent_before = nullptr;
};

/// Returns whether a frame may have a payload that no checksum covers: only data, which algorithms
/// check field by field.
constexpr bool may_be_unsummed(FrameKind kind) { return kind == FrameKind::data; }

/// Completes the header and writes it to `head`.
void put_frame_header(FrameHeader header, const Framed& payload, bool with_checksum,
                      std::byte* head);

/// The properties of the next frame that its receiver knows.
struct ExpectedFrame {
  int peer;
  int ranks;
  uint64_t ordinal;
  bool has_checksum;
};
/// Throws RemoteError if the frame is damaged or is not the expected one.
void check_frame(const Frame& frame, const ExpectedFrame& expected);

}  // namespace sparsecoll
