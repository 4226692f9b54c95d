// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Push-sum: where a state lives.
#include <cstring>

#include "api/push_sum.hpp"

namespace sparsecoll {

void PushSumState::claim(int device) {
  int first = kNowhere;
  if (claimed_.compare_exchange_strong(first, device) || first == device) return;
  fail(sparsecollInvalidArgument, "x: expected ", name_of_memory(first),
       ", where those of the state's first step were, got ", name_of_memory(device));
}

void PushSumState::live_on(int device, Communicator& communicator) {
  if (device == device_) return;
  const std::shared_ptr<Memory> memory = communicator.memory_at(device);
  Kernels& kernels = communicator.kernels_at(device, shape().type, IndexType::index64);
  for (GossipCodec::Copies* copies : {push_sum_->sent_copies(), push_sum_->received_copies()}) {
    if (!copies) continue;
    for (auto& [peer, copy] : *copies) {  // read from a file
      Block there(*memory, copy.size());
      kernels.copy(kernels.upload({copy.data(), copy.size()}), copy.size(), there.data());
      kernels.read(kernels.counts(1));
      copy = std::move(there);
    }
  }
  memory_ = memory;
  device_ = device;
}

ConstBytes PushSumState::on_host(const Block& copy, Communicator& communicator) const {
  if (device_ == kHost) return {copy.data(), copy.size()};
  const Bytes host(communicator.arena().take<std::byte>(copy.size()), copy.size());
  communicator.device_end(device_).begin(std::nullopt);
  communicator.kernels_at(device_, shape().type, IndexType::index64).download(copy.data(), host);
  return host;
}

void PushSumState::restored(Communicator& communicator) {
  memory_ = communicator.shared_memory();
  device_ = kHost;
  claimed_ = kNowhere;
}

double PushSumState::weight(Communicator& communicator) const {
  const Block* const there = push_sum_->weight_there();
  if (!there) return push_sum_->weight();
  const Workspace workspace(communicator);
  double weight;
  std::memcpy(&weight, on_host(*there, communicator).data(), sizeof weight);
  return weight;
}

GossipContext PushSumState::call_at(const ExecutionContext& context, Communicator& communicator,
                                    const CallParameters& terms, StreamCall* call) {
  live_on(context.device(), communicator);
  Kernels& kernels = context.kernels(communicator, shape().type, narrowest_index(shape().count));
  return {communicator.link().channel(),
          call,
          kernels,
          *memory_,
          communicator.arena(),
          terms.stats,
          terms.sequence,
          terms.deadline,
          context.captured()};
}

}  // namespace sparsecoll
