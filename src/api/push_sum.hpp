// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "api/bridge.hpp"
#include "collectives/push_sum.hpp"

namespace sparsecoll {

/// A push-sum state as the C API hands it out.
class PushSumState {
 public:
  PushSumState(const std::shared_ptr<Communicator>& owner, const PushSumShape& shape,
               const sparsecollPushSumConfig_t& config);

  /// Null once the communicator is gone.
  std::shared_ptr<Communicator> owner() const { return owner_.lock(); }
  PushSum& push_sum() { return push_sum_; }
  const PushSumShape& shape() const { return push_sum_.shape(); }
  const sparsecollPushSumConfig_t& config() const { return config_; }

 private:
  std::weak_ptr<Communicator> owner_;
  std::shared_ptr<Memory> memory_;  ///< outlives the copies in push_sum_
  sparsecollPushSumConfig_t config_;
  PushSum push_sum_;
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
void check_tensors(const PushSumShape& shape, const Tensors& tensors, sparsecollStream_t stream);

Kernels& kernels_of(const PushSumShape& shape, Communicator& communicator);

/// A caller's configuration, checked; null = defaults.
sparsecollPushSumConfig_t make_push_sum_config(const sparsecollPushSumConfig_t* config);

}  // namespace sparsecoll
