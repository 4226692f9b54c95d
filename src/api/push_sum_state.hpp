// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>

#include "api/bridge.hpp"
#include "api/execution_context.hpp"
#include "collectives/push_sum/push_sum.hpp"

namespace sparsecoll {

/// A push-sum state of the C API: a PushSum, its configuration, and the memory that it lives in.
/// Its copies and weight lie on the backend of its last step.
class PushSumState {
 public:
  virtual ~PushSumState() = default;

  /// Returns null after the communicator was destroyed.
  std::shared_ptr<Communicator> owner() const { return owner_.lock(); }
  virtual PushSum& push_sum() = 0;
  const PushSumShape& shape() const { return shape_; }
  const sparsecollPushSumConfig_t& config() const { return config_; }
  /// The number of the call that created the state. It stays when the state moves.
  uint64_t created_in() const { return created_in_; }
  void set_created_in(uint64_t call) { created_in_ = call; }
  /// The number of the call of its last step or drain. Whether a step or drain was captured into a
  /// graph.
  uint64_t last_call() const { return last_call_; }
  bool captured() const { return captured_; }

  /// Binds the state to the device (or kHost) of its first step's tensors. Throws InvalidArgument
  /// if it is bound to another one. Called when the user makes a step, which may run later.
  void bind_to(int device);
  /// Returns w. May wait for the device.
  double weight(Communicator& communicator);
  /// Returns the bytes of a copy or of the weight on the host. Bytes of a device are copied to the
  /// workspace, so the caller must hold a Workspace.
  ConstBytes read_on_host(const Block& block, Communicator& communicator) const;
  /// Unbinds the state from its device. Called after its copies and weight were replaced by others
  /// in host memory.
  void replaced_on_host(Communicator& communicator);

  /// Ends the call that creates this state: from then on, peers may send messages to it.
  void open(AgreedCall& call, Communicator& communicator);
  /// Makes the next step on a backend that `context` has begun to use.
  void step(const ExecutionContext& context, Communicator& communicator,
            const CallParameters& parameters, const Tensors& tensors);
  /// Adds all messages in flight to x and w. Ends the call.
  void drain(const ExecutionContext& context, Communicator& communicator, AgreedCall& call,
             const Tensors& tensors);
  /// Drops the messages for this state that have arrived and that will arrive.
  void close(Communicator& communicator) noexcept;

 protected:
  PushSumState(const std::shared_ptr<Communicator>& owner, const PushSumShape& shape,
               const sparsecollPushSumConfig_t& config);

  /// The graph that the configuration chooses.
  static Graph graph_of(const sparsecollPushSumConfig_t& config, const Communicator& communicator);

 private:
  /// Makes the next step in a call that runs.
  virtual void make_step(const CallParameters& parameters, bool captured,
                         const GossipContext& context, const Tensors& tensors) = 0;
  /// Adds the messages in flight, which the link has received, in a call that runs.
  virtual void add_received(AgreedCall& call, const GossipContext& context,
                            const Tensors& tensors) = 0;
  /// Moves the copies to the backend of a step or drain, and returns the context.
  GossipContext enter(const ExecutionContext& context, Communicator& communicator, Stats& stats);
  static constexpr int kUnbound = kHost - 1;

  void move_to(int device, Communicator& communicator);

  std::weak_ptr<Communicator> owner_;
  std::shared_ptr<Memory> memory_;  ///< the memory of device_; outlives the copies, which
                                    ///< subclasses own
  std::atomic<int> bound_to_{kUnbound};
  int device_ = kHost;  ///< the device of the copies and of the weight
  PushSumShape shape_;
  sparsecollPushSumConfig_t config_;
  uint64_t created_in_ = shape_.id;
  uint64_t last_call_ = 0;
  bool captured_ = false;
};

/// Creates a state for the communicator's kind of link.
std::shared_ptr<PushSumState> make_push_sum_state(const std::shared_ptr<Communicator>& owner,
                                                  const PushSumShape& shape,
                                                  const sparsecollPushSumConfig_t& config);

/// Runs `body(Communicator&, PushSumState&)` for a C function on a push-sum state; returns its
/// result, or the code of the exception that it throws.
template <class Body>
sparsecollResult_t on_push_sum(const char* operation, sparsecollPushSum_t handle,
                               Body&& body) noexcept {
  std::shared_ptr<Communicator> owner;  // must outlive the state, because it counts the state's
                                        // memory
  const std::shared_ptr<PushSumState> state = push_sums().find(handle);
  if (state) owner = state->owner();
  return on_communicator(operation, owner.get(), [&](Communicator& c) { return body(c, *state); });
}

/// Throws InvalidArgument for tensors that do not fit a state of this shape.
void check_tensors(const PushSumShape& shape, const Tensors& tensors);

inline Buffers buffers_of(const Tensors& tensors, Stream stream) {
  return {{{"x", tensors.x}, {"estimate", tensors.estimate}}, stream};
}

}  // namespace sparsecoll
