// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/reduction.hpp"

#include <bit>
#include <utility>

#include "core/error.hpp"

namespace sparsecoll {

Reduction::Reduction(const Invocation& invocation, Kernels& kernels)
    : invocation_(invocation),
      env_{invocation.call,
           kernels,
           invocation.communicator.backends().arena(),
           invocation.call.stats(),
           kernels.counts(1),
           static_cast<Wire>(invocation.communicator.config().values.wire)} {
  invocation.call.set_kernels(kernels);
}

Network Reduction::network() {
  if (env_.call.in_stream_order()) return kBesideEachOther;
  // What is chosen decides which sums are rounded, so that results must not depend on measurements.
  if (env_.rounds()) return kCommodity;
  if (const auto& known = invocation_.communicator.network_model().network) return *known;
  if (env_.call.size() == 1) return kCommodity;
  measured_ = measure_network(env_);
  if (!measured_) return kCommodity;  // in a group
  invocation_.communicator.log(LogLevel::info, "network: alpha ", measured_->alpha * 1e6,
                               " us, beta ", measured_->beta * 1e9, " ns a byte");
  return *measured_;
}

const Topology& Reduction::topology() {
  if (const auto& known = invocation_.communicator.network_model().topology) return *known;
  if (learned_) return *learned_;
  learned_ = learn_topology(env_, invocation_.communicator.network_model().node);
  invocation_.communicator.log(LogLevel::info, "nodes: ", learned_->nodes(), ", with ",
                               learned_->largest(), " ranks at most");
  return *learned_;
}

const Nodes* Reduction::nodes() {
  // Of rounded values no measurement may decide, as in network().
  if (!invocation_.communicator.config().values.allowReordered || env_.rounds() ||
      env_.call.in_stream_order() || topology().largest() == 1)
    return nullptr;
  if (const auto& known = invocation_.communicator.network_model().nodes) return &*known;
  measured_nodes_ = measure_nodes(env_, topology());
  if (!measured_nodes_) return nullptr;  // in a group
  const auto words = [](const Network& network) {
    return text("alpha ", network.alpha * 1e6, " us, beta ", network.beta * 1e9, " ns a byte");
  };
  invocation_.communicator.log(LogLevel::info, "network: within nodes ",
                               words(measured_nodes_->within), "; between leaders ",
                               words(measured_nodes_->leaders));
  return &*measured_nodes_;
}

void Reduction::tell_choice(const AlgorithmEntry& chosen, const Shape& shape,
                            const Network& network) const {
  const auto predicted = [&](AlgorithmId id) {
    return text(predicted_seconds(id, shape, network) * 1e6, " us");
  };
  const bool known = shape.k != kAll || shape.entries > 0;
  const bool by_node = shape.nodes && shape.k != kAll;
  const bool densely = shape.whole && shape.entries > 0;
  invocation_.communicator.log(
      LogLevel::info, "auto: ", chosen.name, " for count ", shape.count, ", k ",
      shape.k == kAll ? "SPARSECOLL_ALL" : std::to_string(shape.k), ": ",
      known ? text("allgather would take ", predicted(AlgorithmId::allgather), ", oktopk ",
                   predicted(AlgorithmId::oktopk), by_node ? ", hierarchical " : "",
                   by_node ? predicted(AlgorithmId::hierarchical) : "", densely ? ", dense " : "",
                   densely ? predicted(AlgorithmId::dense) : "")
            : "how many entries there are is not known yet");
}

const AlgorithmEntry& Reduction::sparse_algorithm(const Problem& problem, Form form) {
  const AlgorithmEntry& configured =
      *find_algorithm(invocation_.communicator.config().values.algorithm);
  const bool reuses = invocation_.communicator.config().values.selection == sparsecollSelectReuse;
  if (reuses && problem.k != kAll) return reusing_oktopk();
  if (configured.run) return configured;
  const size_t value_size =
      env_.kernels.wire_value_size(env_.rounds() ? Precision::bfloat16 : Precision::stored);
  const DataType type = env_.kernels.data_type();
  const bool whole = form == Form::dense && problem.k >= problem.count &&
                     type == accumulation(type) && !env_.rounds();
  const Network speed = network();
  const Shape shape{
      invocation_.call.size(),  problem.count, problem.k, value_size, invocation_.cache.entries,
      invocation_.cache.result, nodes(),       whole};
  const AlgorithmEntry& chosen = choose_algorithm(shape, speed);
  const int id = static_cast<int>(chosen.id);
  if (std::exchange(invocation_.cache.chosen, id) != id) tell_choice(chosen, shape, speed);
  return chosen;
}

Outcome Reduction::run(Algorithm algorithm, AlgorithmId id, Problem problem) {
  problem.repartition_interval =
      static_cast<uint64_t>(invocation_.communicator.config().values.repartitionInterval);
  problem.threshold_interval =
      static_cast<uint64_t>(invocation_.communicator.config().values.thresholdInterval);
  if (id == AlgorithmId::hierarchical) problem.topology = &topology();
  const Outcome outcome = algorithm(env_, problem, invocation_.cache);
  env_.stats.algorithm = static_cast<int>(id);
  size_t selected = problem.shards.empty() ? env_.kernels.read(problem.local.nnz.at) : 0;
  for (const SparseSpan& shard : problem.shards) selected += env_.kernels.read(shard.nnz.at);
  const size_t result = env_.kernels.read(outcome.result.nnz.at);
  // What a rank has of a sum that is scattered, others have not. A group's next call goes on from
  // this one's confirm.
  if (problem.k == kAll && problem.regions.empty()) invocation_.cache.result = result;
  complete(selected, result);
  invocation_.communicator.shape_caches().store(invocation_.descriptor.hash(), invocation_.cache);
  if (measured_) invocation_.communicator.network_model().network = *measured_;
  if (learned_) invocation_.communicator.network_model().topology = *learned_;
  if (measured_nodes_) invocation_.communicator.network_model().nodes = *measured_nodes_;
  return outcome;
}

Outcome Reduction::run_settled(Algorithm algorithm, const Problem& problem) {
  const Outcome outcome = algorithm(env_, problem, invocation_.cache);
  invocation_.call.confirm_counts(env_.kernels,
                                  {problem.local.nnz.at, outcome.result.nnz.at, env_.fault});
  return outcome;
}

uint64_t Reduction::count_entries(const SparseSpan& values) {
  // All keys but 0 in one bin.
  const int all = static_cast<int>(std::bit_width(env_.kernels.keys().end));
  uint64_t* const counted = env_.kernels.counts(2);
  env_.kernels.key_histogram(values, {1, all, 1}, counted);
  return env_.kernels.read(counted);
}

void Reduction::correct_counts(uint64_t selected, uint64_t result) {
  env_.stats.selected = selected;
  env_.stats.result = result;
}

void Reduction::keep_lost(const SparseSpan& lost, void* residual) {
  if (lost.value) env_.kernels.put_back({lost, {}, {}}, residual);
}

void Reduction::complete(size_t selected, size_t result) {
  env_.stats.selected = selected;
  env_.stats.result = result_entries_ = result;
  refuse_malformed(env_.kernels.read(env_.fault));
  invocation_.call.confirm();
}

Descriptor describe(Verb verb, const std::array<uint64_t, 5>& arguments) {
  Descriptor descriptor;
  descriptor.verb = static_cast<uint64_t>(verb);
  std::copy(arguments.begin(), arguments.end(), descriptor.argument.begin());
  return descriptor;
}

}  // namespace sparsecoll
