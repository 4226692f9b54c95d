// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "collectives/push_sum/gossip.hpp"

namespace sparsecoll {

/// Compressed gossip on all edges of one rank. See compressed_gossip.cpp for the algorithm.
///
/// No function waits for the backend. Callers send and receive the messages.
class CompressedGossip {
 public:
  /// One copy for each edge in one direction, by the peer at its other end.
  using Copies = std::map<int, Block>;

  /// One edge in one step.
  struct Edge {
    int peer;      ///< the rank at the other end
    double share;  ///< gamma p_ji
  };

  /// A packed message of unknown size.
  struct PackedChange {
    Packets packets;          ///< one message; it lives as long as the arena's scope
    const uint64_t* entries;  ///< number of entries of the message, in the backend's memory
  };

  explicit CompressedGossip(const PushSumShape& shape) : shape_(shape) {}

  /// The sender's copies, negated.
  Copies& sent_copies() { return sent_; }
  /// The receiver's copies.
  Copies& received_copies() { return received_; }

  /// Returns an upper bound of the bytes of any message.
  size_t message_bound(const Kernels& kernels) const;
  /// Steps 1 to 3: packs the message to this edge's receiver and subtracts in `update` the mass
  /// that leaves x.
  PackedChange pack(const GossipContext& context, const Edge& to, const void* x,
                    StepUpdate& update);
  /// Step 4: adds to `update` the mass that this message brings. `message` lies where messages of
  /// this backend lie. Increments *fault, a count in the backend's memory, for a malformed message,
  /// which changes nothing.
  void unpack(const GossipContext& context, const Edge& from, ConstBytes message, uint64_t* fault,
              StepUpdate& update);

 private:
  size_t capacity() const;
  /// Returns the copy for that peer; creates it as zeros at first use.
  void* copy_for(const GossipContext& context, Copies& copies, int peer) const;
  /// Returns update.net; creates it as zeros at first use.
  void* net_of(const GossipContext& context, StepUpdate& update) const;

  PushSumShape shape_;
  Copies sent_;
  Copies received_;
};

}  // namespace sparsecoll
