// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Moves push-sum states to a communicator of the ranks that remain.
#include <algorithm>
#include <cstring>

#include "api/move.hpp"
#include "api/operation.hpp"
#include "api/push_sum_config.hpp"
#include "api/push_sum_state.hpp"
#include "calls/basic_collectives.hpp"

namespace sparsecoll {

namespace {

/// Puts a new state of the new communicator in the place of the old one. It has the weight of the
/// old one and the largest step number of all ranks: no rank makes a step twice. Messages of the
/// old communicator stay there.
class Move final : public Operation {
 public:
  Move(std::shared_ptr<PushSumState> state, Communicator& from, sparsecollPushSum_t handle)
      : state_(std::move(state)), from_(from), handle_(handle) {}

  Descriptor descriptor() const override {
    const PushSumShape& shape = state_->shape();
    return PushSumIdentity{shape.count, static_cast<int>(shape.type), state_->config(),
                           state_->created_in(), 0}
        .descriptor(Verb::push_sum_move);
  }

  void check_arguments(Communicator& to) override {
    check_made_of(to, from_);
    const uint64_t ended = from_.link().ended();
    if (end_device_work(from_) && (state_->captured() || state_->last_call() > ended))
      fail(sparsecollInvalidUsage, "state: expected one whose last step, call ",
           state_->last_call(), ", ended before the failure over NCCL, which came after call ",
           ended, state_->captured() ? ", and that no CUDA graph has changed" : "",
           ": x may hold what no rank has sent");
  }

  MemoryUse buffers_in_use() const override { return {}; }

  void run(const Invocation& invocation) override {
    Communicator& to = invocation.communicator;
    PushSumShape shape = state_->shape();
    shape.id = invocation.call.number();
    const double weight = state_->weight(from_);
    const std::shared_ptr<PushSumState> moved =
        make_push_sum_state(to.shared_from_this(), shape, state_->config());
    moved->set_created_in(state_->created_in());
    moved->push_sum().resume(largest_step(invocation), weight);
    to.push_sums().reserve();
    moved->open(invocation.call, to);
    // Nothing can fail from here on.
    state_->close(from_);
    to.push_sums().adopt(from_.push_sums(), handle_, moved);
  }

 private:
  Buffers buffers() const noexcept override { return {{}, nullptr}; }

  uint64_t largest_step(const Invocation& invocation) const {
    uint64_t largest = state_->push_sum().step_number();
    for (const ConstBytes each :
         allgather_equal(invocation.call, invocation.communicator.backends().arena(),
                         std::as_bytes(std::span(&largest, 1)))) {
      uint64_t step;
      std::memcpy(&step, each.data(), sizeof step);
      largest = std::max(largest, step);
    }
    return largest;
  }

  std::shared_ptr<PushSumState> state_;
  Communicator& from_;
  sparsecollPushSum_t handle_;
};

}  // namespace

}  // namespace sparsecoll

using namespace sparsecoll;

sparsecollResult_t sparsecollPushSumMove(sparsecollPushSum_t state, sparsecollComm_t newcomm) {
  constexpr const char* kName = "sparsecollPushSumMove";
  return on_push_sum(kName, state, [&](Communicator& from, PushSumState&) {
    return on_new_owner(kName, from, newcomm, [&](Communicator& to) {
      to.check_healthy();
      to.begin_call([&] {
        Move move(push_sums().find(state), from, state);
        run_and_wait(to, move);
      });
      return sparsecollSuccess;
    });
  });
}
