// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Push-sum: how a state is created, drained, queried and destroyed. See push_sum_step.cpp for its
// steps and push_sum_file.cpp for its files.
#include <optional>

#include "api/operation.hpp"
#include "api/push_sum_config.hpp"
#include "api/push_sum_state.hpp"

namespace sparsecoll {

namespace {

class Create final : public Operation {
 public:
  Create(sparsecollPushSum_t* out, size_t count, int datatype,
         const sparsecollPushSumConfig_t* config)
      : out_(out), identity_{count, datatype, default_push_sum_config(), 0, 0} {
    try {
      identity_.config = make_push_sum_config(config);
    } catch (const Error& error) {
      problem_ = error;
    }
  }

  Descriptor descriptor() const override { return identity_.descriptor(Verb::push_sum_create); }

  void check_arguments(Communicator& communicator) override {
    if (!out_) fail(sparsecollInvalidArgument, "state: expected a pointer, got NULL");
    if (problem_) throw Error(*problem_);
    if (identity_.config.maxDelay == kNeverWaits && !communicator.link().keeps_gossip())
      fail(sparsecollInvalidArgument,
           "config.maxDelay: expected 0 or more over NCCL, where messages cannot wait for a step "
           "that takes them, got -1");
    type_ = check_float_type(identity_.datatype);
    if (identity_.count > static_cast<size_t>(-1) / 4 / size_of(type_))
      fail(sparsecollInvalidArgument, "count: expected a size that fits into memory, got ",
           identity_.count);
  }

  MemoryUse buffers_in_use() const override { return {}; }

  void run(const Invocation& invocation) override {
    Communicator& communicator = invocation.communicator;
    const sparsecollPushSumConfig_t& config = identity_.config;
    const uint64_t id = invocation.call.number();
    const auto state = make_push_sum_state(
        communicator.shared_from_this(),
        PushSumShape{id, identity_.count, type_, config.maxDelay, config.k, config.mixing}, config);
    communicator.push_sums().reserve();
    state->open(invocation.call, communicator);
    void* const handle = communicator.push_sums().insert(state);
    *out_ = static_cast<sparsecollPushSum_t>(handle);
  }

 private:
  Buffers buffers() const noexcept override { return {{}, nullptr}; }

  sparsecollPushSum_t* out_;
  PushSumIdentity identity_;
  std::optional<Error> problem_;
  DataType type_ = DataType::float32;
};

class Drain final : public Operation {
 public:
  Drain(std::shared_ptr<PushSumState> state, const Tensors& tensors, sparsecollStream_t stream)
      : state_(std::move(state)), tensors_(tensors), stream_(stream) {}

  Descriptor descriptor() const override {
    const PushSumShape& shape = state_->shape();
    return PushSumIdentity{shape.count, static_cast<int>(shape.type), state_->config(), shape.id,
                           state_->push_sum().step_number()}
        .descriptor(Verb::push_sum_drain);
  }

  void check_arguments(Communicator&) override {
    check_tensors(state_->shape(), tensors_);
    if (!state_->push_sum().can_drain())
      fail(sparsecollInvalidUsage,
           "state: expected one without captured steps, since messages of compressed gossip that "
           "wait belong to the graph, got one with some");
    state_->bind_to(context().device());
  }

  MemoryUse buffers_in_use() const override { return {}; }

  void run(const Invocation& invocation) override {
    state_->drain(context(), invocation.communicator, invocation.call, tensors_);
  }

 private:
  Buffers buffers() const noexcept override { return buffers_of(tensors_, stream_); }

  std::shared_ptr<PushSumState> state_;
  Tensors tensors_;
  sparsecollStream_t stream_;
};

}  // namespace

}  // namespace sparsecoll

using namespace sparsecoll;

sparsecollResult_t sparsecollPushSumCreate(sparsecollPushSum_t* state, size_t count,
                                           sparsecollDataType_t datatype,
                                           const sparsecollPushSumConfig_t* config,
                                           sparsecollComm_t comm) {
  return on_communicator("sparsecollPushSumCreate", comm, [&](Communicator& communicator) {
    communicator.check_healthy();
    communicator.group().check_closed();
    communicator.begin_call([&] {
      Create create(state, count, datatype, config);
      run_and_wait(communicator, create);
    });
    return sparsecollSuccess;
  });
}

sparsecollResult_t sparsecollPushSumDrain(sparsecollPushSum_t state, void* x, void* estimate,
                                          sparsecollStream_t stream) {
  const std::shared_ptr<PushSumState> found = push_sums().find(state);
  const std::shared_ptr<Communicator> owner = found ? found->owner() : nullptr;
  return on_entered("sparsecollPushSumDrain", owner.get(), [&](Communicator& communicator) {
    communicator.check_healthy();
    communicator.group().check_closed();
    communicator.begin_call([&] {
      const auto drain = std::make_shared<Drain>(found, Tensors{x, estimate}, stream);
      if (communicator.queue()) {
        drain->mark(communicator);
        communicator.enqueue("sparsecollPushSumDrain",
                             [&communicator, drain] { run(communicator, *drain); });
      } else {
        run(communicator, *drain);
      }
    });
    return sparsecollSuccess;
  });
}

sparsecollResult_t sparsecollPushSumWeight(sparsecollPushSum_t state, double* weight) {
  return on_push_sum("sparsecollPushSumWeight", state, [&](Communicator& c, PushSumState& s) {
    if (!weight) fail(sparsecollInvalidArgument, "weight: expected a pointer, got NULL");
    *weight = s.weight(c);
    return sparsecollSuccess;
  });
}

sparsecollResult_t sparsecollPushSumDestroy(sparsecollPushSum_t state) {
  return on_push_sum("sparsecollPushSumDestroy", state, [&](Communicator& c, PushSumState& s) {
    c.group().check_closed();
    s.close(c);
    c.push_sums().erase(state);
    return sparsecollSuccess;
  });
}
