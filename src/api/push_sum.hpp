// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "api/bridge.hpp"
#include "api/execution_context.hpp"
#include "collectives/push_sum/push_sum.hpp"

namespace sparsecoll {

/// A push-sum state as the C API hands it out.
class PushSumState {
  static constexpr int kNowhere = kHost - 1;

 public:
  PushSumState(const std::shared_ptr<Communicator>& owner, const PushSumShape& shape,
               const sparsecollPushSumConfig_t& config);

  /// Null once the communicator is gone.
  std::shared_ptr<Communicator> owner() const { return owner_.lock(); }
  PushSum& push_sum() { return *push_sum_; }
  const PushSumShape& shape() const { return push_sum_->shape(); }
  const sparsecollPushSumConfig_t& config() const { return config_; }

  /// Throws InvalidArgument for tensors that are not where those of its first step were. Called
  /// when the step is, whenever it is made.
  void claim(int device);
  /// What a step or a drain works with, at a site that was entered.
  GossipContext call_at(const ExecutionContext& context, Communicator& communicator,
                        const CallParameters& terms, StreamCall* call);
  /// w, which may have to be waited for.
  double weight(Communicator& communicator) const;
  /// What it remembers of an edge, in workspace where it lives on a device.
  ConstBytes on_host(const Block& copy, Communicator& communicator) const;
  /// What it remembers is on the host from now on, until its next step.
  void restored(Communicator& communicator);

 private:
  /// Brings what it remembers to that place, if it is not there yet.
  void live_on(int device, Communicator& communicator);

  std::weak_ptr<Communicator> owner_;
  std::shared_ptr<Memory> memory_;      ///< outlives the copies in push_sum_
  std::atomic<int> claimed_{kNowhere};  ///< where the tensors of its steps are
  int device_ = kHost;                  ///< where what it remembers is
  sparsecollPushSumConfig_t config_;
  std::unique_ptr<PushSum> push_sum_;
};

/// The way of on_residual() for a push-sum state.
template <class Body>
sparsecollResult_t on_push_sum(const char* operation, sparsecollPushSum_t handle,
                               Body&& body) noexcept {
  std::shared_ptr<Communicator> owner;  // outlives the state, whose memory it counts
  const std::shared_ptr<PushSumState> state = push_sums().find(handle);
  if (state) owner = state->owner();
  return on_communicator(operation, owner.get(), [&](Communicator& c) { return body(c, *state); });
}

/// Throws InvalidArgument for what does not fit a state of this shape.
void check_tensors(const PushSumShape& shape, const Tensors& tensors);

inline Buffers buffers_of(const Tensors& tensors, Stream stream) {
  return {{{"x", tensors.x}, {"estimate", tensors.estimate}}, stream};
}

/// A caller's configuration, checked; null = defaults.
sparsecollPushSumConfig_t make_push_sum_config(const sparsecollPushSumConfig_t* config);

}  // namespace sparsecoll
