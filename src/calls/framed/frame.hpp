// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/memory.hpp"

namespace sparsecoll {

enum class FrameKind : uint16_t { data = 1, abandon = 2, fatal = 3, gossip = 4 };

/// In front of every message between ranks.
struct FrameHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t kind;
  uint64_t sequence;       ///< of the collective call
  uint64_t descriptor;     ///< hash of what the sender was called with
  uint32_t covered_first;  ///< ranks [first, first + count) modulo P are known to the sender to
  uint32_t covered_count;  ///< have made this call with this descriptor
  uint64_t ordinal;        ///< how many frames this sender sent to this receiver before
  uint64_t payload;        ///< bytes that follow
  uint64_t checksum;       ///< of header (with 0 here) and payload
  uint32_t result;         ///< of a fatal notice: the sparsecollResult_t of the sender
  uint16_t tail;           ///< bytes behind the payload: 0, or 8 with the payload's checksum, which
                           ///< then is no part of the one above
  uint16_t hidden;         ///< 1: the sender's host did not see the payload, so that no checksum
                           ///< covers it
};
static_assert(sizeof(FrameHeader) == 64);

struct Frame {
  FrameHeader header;
  Buffer buffer;
  Buffer hidden = {};  ///< the payload, where that came to memory of this rank's device

  FrameKind kind() const { return static_cast<FrameKind>(header.kind); }
  bool is_hidden() const { return hidden.size() > 0; }
  size_t size() const { return buffer.size() + hidden.size(); }
  ConstBytes payload() const {
    if (is_hidden()) return {hidden.data(), hidden.size()};
    return ConstBytes(buffer.data(), buffer.size()).subspan(sizeof(FrameHeader), header.payload);
  }
};

/// In front of the payload of a gossip frame. Gossip is not bound to the call in which it arrives:
/// it stays in the channel until the state takes it that it is for.
struct GossipHeader {
  uint64_t state;  ///< number of the call that made it
  uint64_t step;   ///< of the sender
  double share;    ///< p_ji, times gamma in compressed gossip
  double weight;   ///< how much of the sender's w moves
};
static_assert(sizeof(GossipHeader) == 32);

GossipHeader gossip_header(const Frame& frame);

/// What is behind a header. `twin`: the header of another frame with the same payload, which needs
/// no second checksum then; else null.
struct Framed {
  ConstBytes bytes;
  const std::byte* twin = nullptr;
};

/// Completes the header and writes it to `head`.
void put_frame_header(FrameHeader header, const Framed& payload, bool with_checksum,
                      std::byte* head);

/// What a receiver knows of a frame before it looks.
struct ExpectedFrame {
  int peer;
  int ranks;
  uint64_t ordinal;
  bool has_checksum;
};
/// Throws RemoteError unless it is all that.
void check_frame(const Frame& frame, const ExpectedFrame& terms);

}  // namespace sparsecoll
