// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Push-sum: the life of a state, and what its ranks agree on. Its steps are in push_sum_step.cpp.
#include "api/push_sum.hpp"

#include <bit>
#include <cstring>

#include "api/operation.hpp"
#include "calls/stream/stream_call.hpp"

namespace sparsecoll {

namespace {

constexpr sparsecollPushSumConfig_t kDefaults = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;

void check_values(const sparsecollPushSumConfig_t& c) {
  const auto check = [](const char* field, bool good, const char* expected, const auto& got) {
    if (!good)
      fail(sparsecollInvalidArgument, "config.", field, ": expected ", expected, ", got ", got);
  };
  check("graph", c.graph >= sparsecollGraphExponential && c.graph <= sparsecollGraphCustom,
        "a sparsecollGraphKind_t, 0 to 4", c.graph);
  check("peers", c.peers >= 1, "1 or more", c.peers);
  check("peers", c.peers == 1 || c.graph == sparsecollGraphNPeerExponential,
        "1 with every graph but sparsecollGraphNPeerExponential", c.peers);
  check("maxDelay", c.maxDelay >= kNeverWaits, "-1 or more", c.maxDelay);
  check("mixing", c.k == 0 || (c.mixing > 0 && c.mixing <= 1),
        "more than 0 and at most 1 where k > 0", c.mixing);
  const bool custom = c.graph == sparsecollGraphCustom;
  check("outNeighbours", custom == (c.outNeighbours != nullptr),
        custom ? "a function with sparsecollGraphCustom" : "NULL without sparsecollGraphCustom",
        c.outNeighbours ? "one" : "NULL");
}

}  // namespace

sparsecollPushSumConfig_t make_push_sum_config(const sparsecollPushSumConfig_t* config) {
  sparsecollPushSumConfig_t result = kDefaults;
  if (config) {
    if (config->size < offsetof(sparsecollPushSumConfig_t, graph) ||
        config->magic != kDefaults.magic || config->version == 0)
      fail(sparsecollInvalidArgument,
           "config: expected a struct that starts from SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER, got "
           "size ",
           config->size, ", magic ", config->magic, ", version ", config->version);
    std::memcpy(&result, config, std::min(config->size, sizeof result));
    result.size = sizeof result;
    result.version = kDefaults.version;
  }
  check_values(result);
  if (result.k == 0) result.mixing = kDefaults.mixing;  // means nothing
  return result;
}

PushSumState::PushSumState(const std::shared_ptr<Communicator>& owner, const PushSumShape& shape,
                           const sparsecollPushSumConfig_t& config)
    : owner_(owner),
      memory_(owner->shared_memory()),
      config_(config),
      push_sum_((owner->link().channel() ? make_framed_push_sum : make_stream_push_sum)(
          shape, Graph({static_cast<GraphKind>(config.graph), config.peers, config.outNeighbours,
                        config.user},
                       owner->size()))) {}

void check_tensors(const PushSumShape& shape, const Tensors& tensors) {
  const size_t bytes = shape.count * size_of(shape.type);
  check_array("x", tensors.x, shape.count, size_of(shape.type));
  if (!tensors.estimate) return;
  check_array("estimate", tensors.estimate, shape.count, size_of(shape.type));
  check_overlap({"x", tensors.x, bytes}, {"estimate", tensors.estimate, bytes}, false);
}

namespace {

/// What ranks agree on when a state is made, and again when it is drained.
struct Identity {
  uint64_t count;
  int datatype;
  sparsecollPushSumConfig_t config;
  uint64_t state;  ///< 0: not made yet
  uint64_t step;

  Descriptor descriptor(Verb verb) const {
    Descriptor descriptor;
    descriptor.verb = static_cast<uint64_t>(verb);
    const auto set = [&](size_t argument, int value) {
      descriptor.argument[argument] = word_of(value);
    };
    descriptor.argument[kCount] = count;
    descriptor.argument[kK] = config.k;
    set(kDataType, datatype);
    set(kGraph, config.graph);
    set(kPeers, config.peers);
    set(kMaxDelay, config.maxDelay);
    descriptor.argument[kMixing] = std::bit_cast<uint64_t>(config.mixing);
    descriptor.argument[kState] = state;
    descriptor.argument[kStep] = step;
    return descriptor;
  }
};

class Create final : public Operation {
 public:
  Create(sparsecollPushSum_t* out, size_t count, int datatype,
         const sparsecollPushSumConfig_t* config)
      : out_(out), identity_{count, datatype, kDefaults, 0, 0} {
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
    if (identity_.config.maxDelay == kNeverWaits && !communicator.link().channel())
      fail(sparsecollInvalidArgument,
           "config.maxDelay: expected 0 or more over NCCL, where messages cannot wait for a step "
           "that takes them, got -1");
    type_ = check_float_type(identity_.datatype);
    if (identity_.count > static_cast<size_t>(-1) / 4 / size_of(type_))
      fail(sparsecollInvalidArgument, "count: expected a size that fits into memory, got ",
           identity_.count);
  }

  MemoryUse memory_use() const override { return {}; }

  void run(const Invocation& invocation) override {
    Communicator& communicator = invocation.communicator;
    const sparsecollPushSumConfig_t& config = identity_.config;
    const uint64_t id = invocation.call.number();
    const auto made = std::make_shared<PushSumState>(
        communicator.shared_from_this(),
        PushSumShape{id, identity_.count, type_, config.maxDelay, config.k, config.mixing}, config);
    communicator.push_sums().reserve(communicator.push_sums().size() + 1);
    if (Channel* const channel = communicator.link().channel()) {
      barrier(invocation.call, communicator.arena());
      invocation.call.confirm();
      channel->open(id);
    } else {
      invocation.call.agree();
    }
    void* handle = push_sums().insert(made);
    communicator.push_sums().push_back(handle);
    *out_ = static_cast<sparsecollPushSum_t>(handle);
  }

 private:
  Buffers buffers() const noexcept override { return {{}, nullptr}; }

  sparsecollPushSum_t* out_;
  Identity identity_;
  std::optional<Error> problem_;
  DataType type_ = DataType::float32;
};

class Drain final : public Operation {
 public:
  Drain(std::shared_ptr<PushSumState> state, const Tensors& tensors, sparsecollStream_t stream)
      : state_(std::move(state)), tensors_(tensors), stream_(stream) {}

  Descriptor descriptor() const override {
    const PushSumShape& shape = state_->shape();
    return Identity{shape.count, static_cast<int>(shape.type), state_->config(), shape.id,
                    state_->push_sum().step()}
        .descriptor(Verb::push_sum_drain);
  }

  void check_arguments(Communicator&) override {
    check_tensors(state_->shape(), tensors_);
    if (!state_->push_sum().can_drain())
      fail(sparsecollInvalidUsage,
           "state: expected one without captured steps, since messages of compressed gossip that "
           "wait belong to the graph, got one with some");
    state_->claim(context().device());
  }

  MemoryUse memory_use() const override { return {}; }

  void run(const Invocation& invocation) override {
    Communicator& communicator = invocation.communicator;
    const bool mailed = communicator.link().channel();
    if (mailed) {
      barrier(invocation.call, communicator.arena());
      invocation.call.confirm();
    } else {
      invocation.call.agree();
    }
    const CallParameters terms{invocation.call.sequence(), Deadline::after(0),
                               invocation.call.stats()};
    StreamCall* const call = mailed ? nullptr : static_cast<StreamCall*>(&invocation.call);
    state_->push_sum().drain(state_->call_at(context(), communicator, terms, call), tensors_);
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
    communicator.refuse_in_group();
    communicator.take_part([&] {
      Create create(state, count, datatype, config);
      communicator.run_and_wait(create);
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
    communicator.refuse_in_group();
    communicator.take_part([&] {
      const auto drain = std::make_shared<Drain>(found, Tensors{x, estimate}, stream);
      if (communicator.queue()) {
        drain->mark(communicator);
        communicator.enqueue("sparsecollPushSumDrain",
                             [&communicator, drain] { communicator.run(*drain); });
      } else {
        communicator.run(*drain);
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
    c.refuse_in_group();
    if (Channel* const channel = c.link().channel()) channel->close(s.shape().id);
    std::erase(c.push_sums(), static_cast<void*>(state));
    push_sums().erase(state);
    return sparsecollSuccess;
  });
}
