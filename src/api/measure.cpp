// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// sparsecollCommMeasure().
#include "api/operation.hpp"
#include "calls/stream/stream_link.hpp"
#include "collectives/interface/env.hpp"

namespace sparsecoll {

namespace {

class Measure final : public Operation {
 public:
  Descriptor descriptor() const override {
    Descriptor descriptor;
    descriptor.verb = static_cast<uint64_t>(Verb::comm_measure);
    return descriptor;
  }
  MemoryUse buffers_in_use() const override { return {}; }

  void run(const Invocation& invocation) override {
    Communicator& communicator = invocation.communicator;
    NetworkModel& model = communicator.network_model();
    Backends& backends = communicator.backends();
    Kernels& kernels = backends.kernels(kHost, DataType::float32, IndexType::index32);
    Env env{invocation.call, kernels, backends.arena(), invocation.call.stats(), kernels.counts(1)};
    const std::optional<Network> network = measure_network(env);
    std::optional<NodeNetwork> nodes;
    if (communicator.config().values.allowReordered && has_near_ranks(communicator.topology()))
      nodes = measure_node_network(env, communicator.topology());
    invocation.call.confirm();
    if (network) communicator.log(LogLevel::info, "network: ", words_of(*network));
    if (nodes) communicator.log(LogLevel::info, "network: ", words_of(*nodes));
    model.network = network;
    model.nodes = nodes;
  }

 private:
  Buffers buffers() const noexcept override { return {{}, nullptr}; }
  void check_arguments(Communicator&) override {}
};

}  // namespace

}  // namespace sparsecoll

using namespace sparsecoll;

sparsecollResult_t sparsecollCommMeasure(sparsecollComm_t comm) {
  return on_communicator("sparsecollCommMeasure", comm, [](Communicator& communicator) {
    communicator.check_healthy();
    communicator.group().check_closed();
    if (communicator.size() == 1 || link_as<StreamLink>(communicator.link()))
      return sparsecollSuccess;
    communicator.begin_call([&] {
      Measure measure;
      run_and_wait(communicator, measure);
    });
    return sparsecollSuccess;
  });
}
