// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "collectives/push_sum/push_sum.hpp"
#include "kernels/device.hpp"

namespace sparsecoll {

class StreamCall;

/// Push-sum over messages in the order of CUDA streams, for tau >= 0. See stream_push_sum.cpp.
class StreamPushSum final : public PushSum {
 public:
  /// The call of a step or drain.
  struct StreamCallContext {
    StreamCall& call;
    bool captured;  ///< the step becomes part of a CUDA graph
  };

  StreamPushSum(const PushSumShape& shape, const Graph& graph);

  const Block* device_weight() const override { return on_device_ ? &device_weight_ : nullptr; }
  bool captured() const override { return captured_; }
  /// Returns whether a drain is possible after captured steps. A graph adds whatever its buffers
  /// hold, so that a drain must clear them. A cleared message of compressed gossip would still move
  /// a part of the copy.
  bool can_drain() const override { return !captured_ || shape_.max_delay == 0 || shape_.k == 0; }
  void resume(uint64_t step, double weight) override;
  void find_neighbours(int rank, bool captured) override;
  /// Queues the next step. Does not wait on the host, except once after creation or resume().
  void step(const StreamCallContext& call, const GossipContext& context, const Tensors& tensors);
  /// Queues the update of x and w by all messages in flight.
  void drain(const StreamCallContext& call, const GossipContext& context, const Tensors& tensors);

 private:
  class StreamRound;

  /// A message whose memory is known when its exchange is queued.
  struct StreamGossipMessage {
    int peer;
    double share;           ///< the part of the sender's x that the message moves
    const std::byte* data;  ///< kBodyOffset bytes that begin with the weight, then the body
  };

  /// The exchange of one step with tau > 0, in flight or done, and its buffers.
  struct DelayedExchange {
    std::vector<StreamGossipMessage> messages;  ///< messages to be added tau steps later
    std::vector<Block> received;                ///< kHeadroom bytes and a message each
    std::vector<Block> sent;                    ///< their headroom and bytes
    std::shared_ptr<Event> exchanged;           ///< null: later work is ordered behind the exchange
  };

  DelayedExchange& exchange_of(uint64_t step) { return exchanges_[step % exchanges_.size()]; }
  /// Returns whether earlier steps have allocated all memory that the next step needs.
  bool can_be_captured();

  Block device_weight_;      ///< w, one double
  bool on_device_ = false;   ///< device_weight_ holds w, and weight_ is stale
  uint64_t first_step_ = 0;  ///< first step since creation, resume() or a drain
  /// Graphs use the buffers of exchanges_ whenever they are launched, in the order of their stream.
  /// From the first captured step on no exchange runs concurrently with that order.
  bool captured_ = false;
  std::vector<DelayedExchange> exchanges_;  ///< by step modulo tau
  std::vector<int> sources_;                ///< in-neighbours of the next step
};

}  // namespace sparsecoll
