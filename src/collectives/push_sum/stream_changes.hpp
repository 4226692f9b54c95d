// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/push_sum/push_sum.hpp"

namespace sparsecoll {

/// Compressed gossip in stream order: the steps of compressed_gossip.cpp, for both ends of a rank's
/// edges, without a wait.
class StreamChanges {
 public:
  /// One edge in one step.
  struct Edge {
    int peer;
    double share;  ///< gamma p_ji
  };
  /// What all edges of a step move, together, and what is wrong with what came.
  struct Flow {
    void* net = nullptr;
    uint64_t* fault = nullptr;
  };

  explicit StreamChanges(const PushSumShape& shape) : shape_(shape) {}

  GossipCodec::Copies& sent() { return sent_; }
  GossipCodec::Copies& received() { return received_; }
  /// Of a message; all are as long.
  size_t bytes(const Kernels& kernels) const;
  /// Steps 1 to 3, into `body`. Returns how many entries, a count of the place.
  uint64_t* pack(const GossipContext& call, const Edge& to, const void* x, Flow& flow,
                 std::byte* body);
  /// Step 4.
  void take(const GossipContext& call, const Edge& from, const std::byte* body, Flow& flow);

 private:
  void* copy_of(const GossipContext& call, GossipCodec::Copies& copies, int peer) const;
  void* net(const GossipContext& call, Flow& flow) const;

  PushSumShape shape_;
  GossipCodec::Copies sent_;  ///< negated
  GossipCodec::Copies received_;
};

}  // namespace sparsecoll
