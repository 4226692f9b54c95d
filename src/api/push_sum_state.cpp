// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/push_sum_state.hpp"

#include <cstring>

#include "api/arguments.hpp"
#include "calls/framed/framed_link.hpp"
#include "calls/stream/stream_link.hpp"
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

void PushSumState::open(AgreedCall& call, Communicator& communicator) {
  communicator.link().open_gossip(call, shape_.id);
}

void PushSumState::step(const ExecutionContext& context, Communicator& communicator,
                        const CallParameters& parameters, const Tensors& tensors) {
  // Over NCCL, messages are stamped with the hash of this descriptor.
  Descriptor descriptor;
  descriptor.verb = static_cast<uint64_t>(Verb::push_sum_step);
  descriptor.argument[kState] = shape_.id;
  descriptor.argument[kStep] = push_sum().step_number();
  last_call_ = parameters.sequence;
  captured_ = captured_ || context.captured();
  communicator.link().run_unagreed(parameters, descriptor, [&] {
    make_step(parameters, context.captured(), enter(context, communicator, parameters.stats),
              tensors);
  });
}

void PushSumState::drain(const ExecutionContext& context, Communicator& communicator,
                         AgreedCall& call, const Tensors& tensors) {
  last_call_ = call.sequence();
  communicator.link().flush_gossip(call);
  add_received(call, enter(context, communicator, call.stats()), tensors);
}

void PushSumState::close(Communicator& communicator) noexcept {
  communicator.link().close_gossip(shape_.id);
}

namespace {

/// A state whose messages may arrive at any time (MPI, threads).
class FramedPushSumState final : public PushSumState {
 public:
  FramedPushSumState(const std::shared_ptr<Communicator>& owner, const PushSumShape& shape,
                     const sparsecollPushSumConfig_t& config, FramedLink& link)
      : PushSumState(owner, shape, config),
        push_sum_(shape, graph_of(config, *owner)),
        channel_(link.channel()) {}

  PushSum& push_sum() override { return push_sum_; }

 private:
  void make_step(const CallParameters& parameters, bool, const GossipContext& context,
                 const Tensors& tensors) override {
    push_sum_.step({channel_, parameters.sequence, parameters.deadline}, context, tensors);
  }

  void add_received(AgreedCall& call, const GossipContext& context,
                    const Tensors& tensors) override {
    push_sum_.drain({channel_, call.sequence(), Deadline::after(0)}, context, tensors);
  }

  FramedPushSum push_sum_;
  Channel& channel_;  ///< the communicator's channel
};

/// A state whose messages are in the order of CUDA streams (NCCL).
class StreamPushSumState final : public PushSumState {
 public:
  StreamPushSumState(const std::shared_ptr<Communicator>& owner, const PushSumShape& shape,
                     const sparsecollPushSumConfig_t& config, StreamLink& link)
      : PushSumState(owner, shape, config),
        push_sum_(shape, graph_of(config, *owner)),
        link_(link) {}

  PushSum& push_sum() override { return push_sum_; }

 private:
  void make_step(const CallParameters&, bool captured, const GossipContext& context,
                 const Tensors& tensors) override {
    push_sum_.step({link_.call(), captured}, context, tensors);
  }

  void add_received(AgreedCall&, const GossipContext& context, const Tensors& tensors) override {
    push_sum_.drain({link_.call(), false}, context, tensors);
  }

  StreamPushSum push_sum_;
  StreamLink& link_;  ///< the communicator's link
};

}  // namespace

std::shared_ptr<PushSumState> make_push_sum_state(const std::shared_ptr<Communicator>& owner,
                                                  const PushSumShape& shape,
                                                  const sparsecollPushSumConfig_t& config) {
  if (FramedLink* const link = link_as<FramedLink>(owner->link()))
    return std::make_shared<FramedPushSumState>(owner, shape, config, *link);
  return std::make_shared<StreamPushSumState>(owner, shape, config,
                                              *link_as<StreamLink>(owner->link()));
}

}  // namespace sparsecoll
