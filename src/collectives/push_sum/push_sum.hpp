// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "calls/framed/channel.hpp"
#include "collectives/push_sum/graph.hpp"
#include "kernels/kernels.hpp"

namespace sparsecoll {

class StreamCall;

/// What the ranks agree on when they make a push-sum state.
struct PushSumShape {
  uint64_t id = 0;  ///< number of the call that made it
  size_t count = 0;
  DataType type = DataType::float32;
  int max_delay = 0;  ///< tau; kNeverWaits
  size_t k = 0;       ///< entries of a compressed message; 0 = everything is sent
  double mixing = 1;  ///< gamma of compressed gossip

  /// Of what one end of an edge remembers.
  size_t copy_bytes() const { return count * size_of(accumulation(type)); }
};
inline constexpr int kNeverWaits = -1;

/// What one step or drain works with. The kernels are those of the tensor's type and place, the
/// memory is for what outlives the call there.
struct GossipContext {
  Channel* channel;  ///< where messages are mail
  StreamCall* call;  ///< where they go in stream order
  Kernels& kernels;
  Memory& memory;
  Arena& arena;
  Stats& stats;
  uint64_t sequence;
  Deadline deadline;
  bool captured = false;  ///< becomes part of a graph of CUDA
};

/// A message that came in.
struct GossipMessage {
  int peer;
  GossipHeader header;
  Frame frame;

  ConstBytes body() const { return frame.payload().subspan(sizeof(GossipHeader)); }
};

/// The tensors of a call: the numerator, in and out, and x / w or null.
struct Tensors {
  void* x;
  void* estimate;
};

/// What leaves and what arrives, gathered until everything has come.
struct StepUpdate {
  double weight;  ///< w, without what leaves
  std::vector<double> shares;
  std::vector<const void*> arrived;
  void* net = nullptr;
};

/// How a part of x travels.
class GossipCodec {
 public:
  virtual ~GossipCodec() = default;
  /// How much of (x, w) a message to this neighbour moves.
  virtual double moved(const Neighbour& to) const = 0;
  /// A message to this neighbour, its body behind kGossipRoom bytes; puts down what leaves.
  virtual Buffer pack(const GossipContext& call, const Neighbour& to, const void* x,
                      StepUpdate& ledger) = 0;
  /// Puts down what arrives with a message. Throws RemoteError for a malformed one.
  virtual void unpack(const GossipContext& call, const GossipMessage& mail, StepUpdate& ledger) = 0;
  /// What each directed edge remembers, by peer; null: nothing.
  using Copies = std::map<int, Block>;
  virtual Copies* sent_copies() = 0;
  virtual Copies* received_copies() = 0;
};
inline constexpr size_t kGossipRoom = sizeof(FrameHeader) + sizeof(GossipHeader);

/// Everything: x * share as it is.
std::unique_ptr<GossipCodec> make_dense_gossip(const PushSumShape& shape);
/// Compressed gossip: the k largest entries of what the receiver does not know yet.
std::unique_ptr<GossipCodec> make_compressed_gossip(const PushSumShape& shape);

/// One rank's end of push-sum: weight, step counter, and how messages come.
class PushSum {
 public:
  PushSum(const PushSumShape& shape, const Graph& graph) : shape_(shape), graph_(graph) {}
  virtual ~PushSum() = default;

  const PushSumShape& shape() const { return shape_; }
  const Graph& graph() const { return graph_; }
  uint64_t step() const { return step_; }
  /// As far as the host knows.
  double weight() const { return weight_; }
  /// A double where the tensors are, which is what counts; null: the host knows.
  virtual const Block* weight_there() const { return nullptr; }
  virtual GossipCodec::Copies* sent_copies() = 0;
  virtual GossipCodec::Copies* received_copies() = 0;
  /// No message of this state can be under way: it waits for all, or nothing was sent since it was
  /// made, loaded or drained.
  bool settled() const { return shape_.max_delay == 0 || !sent_; }
  /// Graphs of CUDA know where it keeps what it remembers.
  virtual bool in_graph() const { return false; }
  virtual bool can_drain() const { return true; }
  /// Continues where a saved state was.
  virtual void resume(uint64_t step, double weight) = 0;

  /// Works out the neighbours of the next step. Throws InvalidArgument if they are no graph, and
  /// InvalidUsage for a step that is to be part of a graph of CUDA and cannot.
  virtual void look_ahead(int rank, bool captured) = 0;
  /// The next step; look_ahead() was called. x is untouched when it throws.
  virtual void step(const GossipContext& call, const Tensors& tensors) = 0;
  /// Takes in all that is under way; every peer's messages are known to have arrived.
  virtual void drain(const GossipContext& call, const Tensors& tensors) = 0;

 protected:
  PushSumShape shape_;
  Graph graph_;
  uint64_t step_ = 0;
  double weight_ = 1;
  bool sent_ = false;  ///< since the last drain
};

/// Over messages that come whenever they do.
std::unique_ptr<PushSum> make_framed_push_sum(const PushSumShape& shape, const Graph& graph);
/// Over messages in stream order, for tau >= 0.
std::unique_ptr<PushSum> make_stream_push_sum(const PushSumShape& shape, const Graph& graph);

}  // namespace sparsecoll
