// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/call.hpp"
#include "calls/descriptor.hpp"
#include "calls/framed/channel.hpp"
#include "calls/framed/covered_ranks.hpp"
#include "kernels/kernels.hpp"

namespace sparsecoll {

/// Sends the frames of one call. Their headers carry the hash of this rank's arguments and its
/// covered ranks.
class FrameSender {
 public:
  FrameSender(Channel& channel, const CallParameters& parameters, const Descriptor& descriptor,
              Arena& arena);

  /// Sets the kernels that pack the payloads. Until then payloads are complete when they are sent.
  void set_kernels(Kernels& kernels) { kernels_ = &kernels; }
  CoveredRanks& covered() { return covered_; }
  const CoveredRanks& covered() const { return covered_; }
  /// Marks the call in the headers of all later frames.
  void mark() { marked_ = true; }
  bool marked() const { return marked_; }
  /// Hash of the descriptor.
  uint64_t hash() const { return hash_; }

  /// Sends one message of the call, a long one chunk by chunk while it is packed. `again`: this
  /// call sent the packet to another peer before. May throw PeerTimeout.
  void send(int peer, const Packet& packet, bool again);
  /// Sends a notice that abandons the call.
  void send_abandon(int peer, ConstBytes notice);

 private:
  FrameHeader header(FrameKind kind);
  /// Waits until the memory in front of `end` is packed. `bytes` is the size of the whole message.
  void wait_packed(const std::byte* end, size_t bytes);

  Channel& channel_;
  uint64_t sequence_;
  uint64_t hash_;
  Arena& arena_;
  const Deadline deadline_;
  Stats& stats_;
  CoveredRanks covered_;
  bool marked_ = false;
  Kernels* kernels_ = nullptr;
};

}  // namespace sparsecoll
