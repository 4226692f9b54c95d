// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/library.hpp"

#include "api/communicator.hpp"
#include "api/handles.hpp"
#include "common/library_runners.hpp"

namespace sparsecoll::perf {

const Communicator& Library::communicator(const std::string& name) {
  const auto found = communicators_.find(name);
  if (found != communicators_.end()) return found->second;
  sparsecollConfig_t config = SPARSECOLL_CONFIG_INITIALIZER;
  config.device = storage_.device();
  for (const NamedAlgorithm& named : named_algorithms()) {
    if (name != named.word) continue;
    config.algorithm = named.algorithm;
    config.selection = named.selection;
    config.allowReordered = named.allow_reordered;
  }
  config.wire = wire_;
  config.thresholdInterval = threshold_interval_;
  return communicators_.emplace(name, ranks_.connect(config)).first->second;
}

std::vector<int> Library::nodes() {
  const auto internal = communicators().find(communicator(kSharded).get());
  std::vector<int> nodes;
  for (int rank = 0; rank < ranks_.size(); ++rank)
    nodes.push_back(internal->network_model().topology->node_of(rank));
  return nodes;
}

template <class T>
std::unique_ptr<Runner<T>> Library::make(const std::string& name, const Task<T>& task) {
  const Resources resources{communicator(name), storage_};
  if (name == kAlltoall) return std::make_unique<AlltoallVerb<T>>(task, resources);
  if (task.form == Form::kDense) return std::make_unique<DenseVerb<T>>(name, task, resources);
  return std::make_unique<SparseVerb<T>>(name, task, resources);
}

template std::unique_ptr<Runner<float>> Library::make(const std::string&, const Task<float>&);
template std::unique_ptr<Runner<double>> Library::make(const std::string&, const Task<double>&);
template std::unique_ptr<Runner<Float16>> Library::make(const std::string&, const Task<Float16>&);
template std::unique_ptr<Runner<Bfloat16>> Library::make(const std::string&, const Task<Bfloat16>&);

}  // namespace sparsecoll::perf
