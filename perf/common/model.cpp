// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/model.hpp"

#include <vector>

#include "api/communicator.hpp"
#include "api/handles.hpp"
#include "collectives/registry.hpp"
#include "common/algorithm_words.hpp"

namespace sparsecoll::perf {

std::optional<double> model_seconds(const std::string& algorithm, const Exchange& exchange,
                                    const Communicator& comm) {
  const auto internal = communicators().find(comm.get());
  if (internal->size() > 1 && !internal->network_model().network) {
    const std::vector<float> send(64, 1.0f);
    std::vector<float> recv(send.size());
    require(sparseAllreduce(send.data(), recv.data(), send.size(), 1, sparsecollFloat32,
                            sparsecollSum, nullptr, comm.get(), nullptr),
            comm.get(), "sparseAllreduce");
  }
  if (!internal->network_model().network) return std::nullopt;
  const auto& nodes = internal->network_model().nodes;
  const bool by_node = nodes && algorithm != "auto";
  const ProblemSize size{internal->size(),           exchange.n,       exchange.k,
                         exchange.value_size,        exchange.entries, exchange.result,
                         by_node ? &*nodes : nullptr};
  const Network& network = *internal->network_model().network;
  if ((algorithm == kHierarchical || algorithm == kSharded) && !by_node) return std::nullopt;
  if (algorithm == "auto" || algorithm == kReordered)
    return choose_algorithm(size, network).seconds(size, network);
  if (const AlgorithmInfo* const named = algorithm_named(algorithm))
    return predicted_seconds(named->id, size, network);
  return std::nullopt;
}

}  // namespace sparsecoll::perf
