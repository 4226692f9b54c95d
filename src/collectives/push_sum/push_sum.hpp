// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "collectives/push_sum/compressed_gossip.hpp"
#include "collectives/push_sum/gossip.hpp"
#include "collectives/push_sum/graph.hpp"

namespace sparsecoll {

/// One rank's push-sum state: its weight, its step number and its neighbours. FramedPushSum and
/// StreamPushSum add how its messages are sent and received. See push_sum.cpp for the algorithm.
class PushSum {
 public:
  virtual ~PushSum() = default;

  const PushSumShape& shape() const { return shape_; }
  const Graph& graph() const { return graph_; }
  /// Number of the next step, from 0.
  uint64_t step_number() const { return step_; }
  /// w as the host knows it. Stale while device_weight() is not null.
  double weight() const { return weight_; }
  /// w, one double in the device's memory; null while the host knows w.
  virtual const Block* device_weight() const { return nullptr; }
  /// The copies of compressed gossip; null without compression.
  CompressedGossip* compressed() { return compressed_ ? &*compressed_ : nullptr; }
  /// Returns whether no message of this state can be in flight: every step waits for its messages,
  /// or this rank has sent nothing since it created, loaded or drained the state.
  bool nothing_in_flight() const { return shape_.max_delay == 0 || !sent_; }
  /// Returns whether a CUDA graph refers to memory of this state.
  virtual bool captured() const { return false; }
  virtual bool can_drain() const { return true; }

  /// Continues from a saved state.
  virtual void resume(uint64_t step, double weight) = 0;
  /// Step 1: finds the neighbours of the next step. `captured`: the step is to be part of a CUDA
  /// graph. Throws InvalidArgument for a custom graph that is malformed, and InvalidUsage for a
  /// step that cannot be captured yet. Changes nothing else.
  virtual void find_neighbours(int rank, bool captured) = 0;

 protected:
  /// One round of gossip: a step or a drain in progress.
  class Round {
   public:
    Round(PushSum& state, const GossipContext& context, const Tensors& tensors)
        : state_(state), context_(context), tensors_(tensors) {}
    virtual ~Round() = default;

    /// Makes the next step; find_neighbours() was called. If it throws, x is untouched.
    void step();
    /// Adds everything in flight to x and w. Messages of all peers have arrived.
    void drain();

   protected:
    /// Sends p_ji (x, w) to this neighbour, or packs it for receive() or finish_step() to send.
    virtual void send(const Neighbour& to) = 0;
    /// Receives the messages that this step adds.
    virtual void receive() = 0;
    /// Receives the messages in flight.
    virtual void receive_all() = 0;
    /// Puts the received messages into update_, updates w and calls apply_update().
    virtual void add_received() = 0;
    virtual void finish_step() = 0;
    virtual void finish_drain() = 0;

    Kernels& kernels() const { return context_.kernels; }
    /// Does steps 4 and 5 for x: computes x and the estimate from update_.
    void apply_update();

    PushSum& state_;
    GossipContext context_;
    Tensors tensors_;
    StepUpdate update_;
  };

  PushSum(const PushSumShape& shape, const Graph& graph);

  /// Returns the share of (x, w) that a message to this neighbour moves.
  double moved_share(const Neighbour& to) const {
    return shape_.k == 0 ? to.share : shape_.mixing * to.share;
  }
  /// Returns the size of an uncompressed vector in bytes.
  size_t vector_bytes() const { return shape_.count * size_of(shape_.type); }

  PushSumShape shape_;
  Graph graph_;
  uint64_t step_ = 0;
  double weight_ = 1;
  bool sent_ = false;                           ///< whether this rank has sent messages since the
                                                ///< last drain
  std::optional<CompressedGossip> compressed_;  ///< none: messages are not compressed
  std::vector<Neighbour> destinations_;         ///< out-neighbours of the next step
};

}  // namespace sparsecoll
