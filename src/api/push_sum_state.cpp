// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/push_sum_state.hpp"

#include <cstring>

#include "api/arguments.hpp"
#include "calls/barrier.hpp"
#include "calls/stream/stream_call.hpp"
#include "collectives/algorithm.hpp"
#include "collectives/push_sum/framed_push_sum.hpp"
#include "collectives/push_sum/stream_push_sum.hpp"

namespace sparsecoll {

PushSumState::PushSumState(const std::shared_ptr<Communicator>& owner, const PushSumShape& shape,
                           const sparsecollPushSumConfig_t& config)
    : owner_(owner), memory_(owner->backends().memory(kHost)), shape_(shape), config_(config) {}

Graph PushSumState::graph_of(const sparsecollPushSumConfig_t& config,
                             const Communicator& communicator) {
  return Graph(
      {static_cast<GraphKind>(config.graph), config.peers, config.outNeighbours, config.user},
      communicator.size());
}

void PushSumState::bind_to(int device) {
  int first = kUnbound;
  if (bound_to_.compare_exchange_strong(first, device) || first == device) return;
  fail(sparsecollInvalidArgument, "x: expected ", name_of_memory(first),
       ", where those of the state's first step were, got ", name_of_memory(device));
}

void PushSumState::move_to(int device, Communicator& communicator) {
  if (device == device_) return;
  const std::shared_ptr<Memory> memory = communicator.backends().memory(device);
  Kernels& kernels = communicator.backends().kernels(device, shape_.type, IndexType::index64);
  if (CompressedGossip* const compressed = push_sum().compressed())
    for (auto* const copies : {&compressed->sent_copies(), &compressed->received_copies()})
      for (auto& [peer, copy] : *copies) {  // loaded from a file
        Block moved(*memory, copy.size());
        kernels.copy(kernels.upload({copy.data(), copy.size()}), copy.size(), moved.data());
        kernels.read(kernels.counts(1));  // waits until the old copy may be freed
        copy = std::move(moved);
      }
  memory_ = memory;
  device_ = device;
}

ConstBytes PushSumState::read_on_host(const Block& block, Communicator& communicator) const {
  if (device_ == kHost) return {block.data(), block.size()};
  const Bytes host(communicator.backends().arena().take<std::byte>(block.size()), block.size());
  communicator.backends().device(device_).begin(std::nullopt);
  communicator.backends()
      .kernels(device_, shape_.type, IndexType::index64)
      .download(block.data(), host);
  return host;
}

void PushSumState::replaced_on_host(Communicator& communicator) {
  memory_ = communicator.backends().memory(kHost);
  device_ = kHost;
  bound_to_ = kUnbound;
}

double PushSumState::weight(Communicator& communicator) {
  const Block* const on_device = push_sum().device_weight();
  if (!on_device) return push_sum().weight();
  const Workspace workspace(communicator.backends());
  double weight;
  std::memcpy(&weight, read_on_host(*on_device, communicator).data(), sizeof weight);
  return weight;
}

GossipContext PushSumState::enter(const ExecutionContext& context, Communicator& communicator,
                                  Stats& stats) {
  move_to(context.device(), communicator);
  return {context.kernels(communicator, shape_.type, narrowest_index(shape_.count)), *memory_,
          stats};
}

void check_tensors(const PushSumShape& shape, const Tensors& tensors) {
  const size_t bytes = shape.count * size_of(shape.type);
  check_array("x", tensors.x, shape.count, size_of(shape.type));
  if (!tensors.estimate) return;
  check_array("estimate", tensors.estimate, shape.count, size_of(shape.type));
  check_overlap({"x", tensors.x, bytes}, {"estimate", tensors.estimate, bytes}, false);
}

namespace {

/// A state whose messages may arrive at any time (MPI, threads).
class FramedPushSumState final : public PushSumState {
 public:
  FramedPushSumState(const std::shared_ptr<Communicator>& owner, const PushSumShape& shape,
                     const sparsecollPushSumConfig_t& config)
      : PushSumState(owner, shape, config), push_sum_(shape, graph_of(config, *owner)) {}

  PushSum& push_sum() override { return push_sum_; }

  void open(AgreedCall& call, Communicator& communicator) override {
    barrier(call, communicator.backends().arena());
    call.confirm();
    channel(communicator).open(shape().id);
  }

  void step(const ExecutionContext& context, Communicator& communicator,
            const CallParameters& parameters, const Tensors& tensors) override {
    push_sum_.step({channel(communicator), parameters.sequence, parameters.deadline},
                   enter(context, communicator, parameters.stats), tensors);
  }

  void drain(const ExecutionContext& context, Communicator& communicator, AgreedCall& call,
             const Tensors& tensors) override {
    barrier(call, communicator.backends().arena());
    call.confirm();
    push_sum_.drain({channel(communicator), call.sequence(), Deadline::after(0)},
                    enter(context, communicator, call.stats()), tensors);
  }

  void close(Communicator& communicator) noexcept override {
    channel(communicator).close(shape().id);
  }

 private:
  static Channel& channel(Communicator& communicator) { return *communicator.link().channel(); }

  FramedPushSum push_sum_;
};

/// A state whose messages are in the order of CUDA streams (NCCL).
class StreamPushSumState final : public PushSumState {
 public:
  StreamPushSumState(const std::shared_ptr<Communicator>& owner, const PushSumShape& shape,
                     const sparsecollPushSumConfig_t& config)
      : PushSumState(owner, shape, config), push_sum_(shape, graph_of(config, *owner)) {}

  PushSum& push_sum() override { return push_sum_; }

  void open(AgreedCall& call, Communicator&) override { call.agree(); }

  void step(const ExecutionContext& context, Communicator& communicator,
            const CallParameters& parameters, const Tensors& tensors) override {
    communicator.link().make_alone(parameters, descriptor(), [&](StreamCall& call) {
      push_sum_.step({call, context.captured()}, enter(context, communicator, parameters.stats),
                     tensors);
    });
  }

  void drain(const ExecutionContext& context, Communicator& communicator, AgreedCall& call,
             const Tensors& tensors) override {
    call.agree();
    push_sum_.drain({static_cast<StreamCall&>(call), false},
                    enter(context, communicator, call.stats()), tensors);
  }

  void close(Communicator&) noexcept override {}

 private:
  /// The messages of a step are stamped with its hash.
  Descriptor descriptor() const {
    Descriptor all;
    all.verb = static_cast<uint64_t>(Verb::push_sum_step);
    all.argument[kState] = shape().id;
    all.argument[kStep] = push_sum_.step_number();
    return all;
  }

  StreamPushSum push_sum_;
};

}  // namespace

std::shared_ptr<PushSumState> make_push_sum_state(const std::shared_ptr<Communicator>& owner,
                                                  const PushSumShape& shape,
                                                  const sparsecollPushSumConfig_t& config) {
  if (owner->link().channel()) return std::make_shared<FramedPushSumState>(owner, shape, config);
  return std::make_shared<StreamPushSumState>(owner, shape, config);
}

}  // namespace sparsecoll
