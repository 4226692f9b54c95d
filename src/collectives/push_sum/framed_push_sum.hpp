// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/framed/channel.hpp"
#include "collectives/push_sum/push_sum.hpp"

namespace sparsecoll {

/// Bytes in front of the body of a gossip message: the frame's header and the gossip header.
inline constexpr size_t kGossipHeaders = sizeof(FrameHeader) + sizeof(GossipHeader);

/// Push-sum over messages that may arrive at any time. They wait in the channel until a step adds
/// them.
class FramedPushSum final : public PushSum {
 public:
  /// The call of a step or drain.
  struct FramedCallContext {
    Channel& channel;
    uint64_t sequence;
    Deadline deadline;
  };

  FramedPushSum(const PushSumShape& shape, const Graph& graph);

  void resume(uint64_t step, double weight) override;
  void find_neighbours(int rank, bool captured) override;
  /// Makes the next step. Throws Timeout if messages that it waits for do not arrive before the
  /// deadline, RemoteError if their sender has gone or sent something else. x is then untouched.
  void step(const FramedCallContext& call, const GossipContext& context, const Tensors& tensors);
  /// Adds all messages in flight. The caller knows that those of all peers have arrived.
  void drain(const FramedCallContext& call, const GossipContext& context, const Tensors& tensors);

 private:
  class FramedRound;

  // By peer: the first step whose message from the peer has not been received yet.
  std::vector<uint64_t> received_until_;
  // By peer: the next step must receive all messages of steps before this one.
  std::vector<uint64_t> required_until_;
  std::vector<int> sources_;  ///< the ranks whose messages of step t - tau the next step t waits
                              ///< for
};

}  // namespace sparsecoll
