// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/reduction.hpp"

#include <string>
#include <utility>

#include "api/arguments.hpp"
#include "api/rank_path.hpp"
#include "api/sharding.hpp"
#include "api/topology_tree.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

const char* name_of(AlgorithmId id) { return algorithm_info(static_cast<int>(id))->name; }

bool share_memory(const Call& call) {
  for (int peer = 0; peer < call.size(); ++peer)
    if (peer != call.rank() && !call.shares_memory(peer)) return false;
  return true;
}

/// Returns Env::node_beta from what earlier calls have measured.
std::optional<double> node_beta(const Call& call, const NetworkModel& model) {
  if (model.nodes) return model.nodes->within.beta;
  if (model.network && share_memory(call)) return model.network->beta;
  return {};
}

}  // namespace

Reduction::Reduction(const Invocation& invocation, Kernels& kernels)
    : invocation_(invocation),
      env_{invocation.call,
           kernels,
           invocation.communicator.backends().arena(),
           invocation.call.stats(),
           kernels.counts(1),
           static_cast<Wire>(invocation.communicator.config().values.wire),
           node_beta(invocation.call, invocation.communicator.network_model())} {
  invocation.call.set_kernels(kernels);
}

Network Reduction::network() {
  if (env_.call.in_stream_order()) return kSameMachine;
  // Auto's choice decides which sums are rounded, and results must not depend on measurements.
  if (env_.rounds()) return kCommodity;
  if (const auto& known = invocation_.communicator.network_model().network) return *known;
  if (env_.call.size() == 1) return kCommodity;
  measured_network_ = measure_network(env_);
  if (!measured_network_) return kCommodity;  // a group cannot measure
  invocation_.communicator.log(LogLevel::info, "network: ", words_of(*measured_network_));
  return *measured_network_;
}

const Topology* Reduction::known_topology() const {
  const auto& known = invocation_.communicator.network_model().topology;
  return known ? &*known : nullptr;
}

const Topology& Reduction::topology() {
  NetworkModel& model = invocation_.communicator.network_model();
  if (!model.topology && !learned_topology_)
    learned_topology_ = Topology(gather_paths(env_.call, env_.arena, model.path));
  const Topology& known = model.topology ? *model.topology : *learned_topology_;
  if (std::exchange(model.topology_is_logged, true)) return known;
  std::string above;
  for (int level = 1; level < known.levels(); ++level)
    above += text(level == 1 ? "; groups above: " : ", ", known.groups(level));
  invocation_.communicator.log(LogLevel::info, "nodes: ", known.nodes(), ", with ",
                               known.largest_node_size(), " ranks at most", above);
  return known;
}

const NodeNetwork* Reduction::nodes() {
  // Measurements must not decide how values are rounded; network() has the same rule.
  if (!invocation_.communicator.config().values.allowReordered || env_.rounds() ||
      env_.call.in_stream_order() || !has_near_ranks(topology()))
    return nullptr;
  if (const auto& tree = invocation_.communicator.config().tree)
    links_ = links_of_groups(*tree, topology());
  if (const auto& known = invocation_.communicator.network_model().nodes) return &*known;
  measured_node_network_ = measure_node_network(env_, topology());
  if (!measured_node_network_) return nullptr;  // a group cannot measure
  invocation_.communicator.log(LogLevel::info, "network: ", words_of(*measured_node_network_));
  return &*measured_node_network_;
}

// A shape's trials are told as one: what was predicted before them, and what was measured after.
void Reduction::tell_choice(const Algorithm& chosen, const ProblemSize& size,
                            const Network& network) {
  constexpr int kTrials = -1;
  int& logged = invocation_.cache.logged_choice;
  if (logged != 0 && invocation_.cache.trials.trying()) {
    logged = kTrials;
    return;
  }
  const int id = static_cast<int>(chosen.id);
  if (std::exchange(logged, id) != id) log_choice(chosen, size, network);
}

void Reduction::log_choice(const Algorithm& chosen, const ProblemSize& size,
                           const Network& network) const {
  std::string times, measured;
  const std::span<const Algorithm* const> all = algorithms();
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i]->suits(size)) continue;
    const char* const name = name_of(all[i]->id);
    times += text(times.empty() ? "" : ", ", name, times.empty() ? " would take " : " ",
                  all[i]->seconds(size, network) * 1e6, " us");
    if (const uint64_t least = invocation_.cache.trials.least(i))
      measured += text(measured.empty() ? "; " : ", ", name, measured.empty() ? " took " : " ",
                       static_cast<double>(least) / 1e3, " us");
  }
  invocation_.communicator.log(
      LogLevel::info, "auto: ", name_of(chosen.id), " for count ", size.count, ", k ",
      size.k == kAll ? "SPARSECOLL_ALL" : std::to_string(size.k), ": ",
      size.entries_unknown() ? "how many entries there are is not known yet" : times + measured);
}

void Reduction::set_scales(const Problem& problem) {
  Kernels& kernels = env_.kernels;
  if (env_.wire == Wire::int8)
    kernels.set_scale_bits(scale_bits_for(problem.count, problem.k, kernels.block_size()));
}

const Algorithm& Reduction::sparse_algorithm(const Problem& problem, Form form) {
  const sparsecollConfig_t& config = invocation_.communicator.config().values;
  const bool reuses = config.selection == sparsecollSelectReuse;
  if (reuses && problem.k != kAll) return oktopk_with_reused_thresholds();
  if (const Algorithm* const configured = find_algorithm(config.algorithm)) return *configured;
  if (form == Form::dense &&
      shards(invocation_.communicator, problem.count, env_.kernels.data_type()))
    return *find_algorithm(sparsecollAlgoSharded);
  const size_t value_size =
      env_.kernels.wire_value_size(env_.rounds() ? env_.rounded_precision() : Precision::stored);
  const DataType type = env_.kernels.data_type();
  const bool whole = form == Form::dense && problem.k >= problem.count &&
                     type == accumulation(type) && !env_.rounds();
  Network speed = network();
  speed.gamma *= 1 + static_cast<double>(env_.kernels.block_size() - 1) / 16;  // cost_model.hpp
  const ProblemSize size{
      invocation_.call.size(),  problem.count, problem.k, value_size, invocation_.cache.entries,
      invocation_.cache.result, nodes(),       whole,     links_};
  const Algorithm& chosen = automatic(size, speed);
  tell_choice(chosen, size, speed);
  return chosen;
}

bool Reduction::learns() const {
  return !env_.rounds() && env_.call.size() > 1 && env_.call.measures();
}

const Algorithm& Reduction::automatic(const ProblemSize& size, const Network& network) {
  if (!learns()) return choose_algorithm(size, network);
  Trials& trials = invocation_.cache.trials;
  if (const std::optional<uint64_t> own = trials.own()) trials.agree(mean_of_ranks(env_, *own));
  return try_algorithms(size, network, trials);
}

Outcome Reduction::run(const Algorithm& algorithm, Problem problem) {
  problem.repartition_interval =
      static_cast<uint64_t>(invocation_.communicator.config().values.repartitionInterval);
  problem.threshold_interval =
      static_cast<uint64_t>(invocation_.communicator.config().values.thresholdInterval);
  if (algorithm.needs_topology) problem.topology = &topology();
  problem.passes_marks = may_skip();
  Trials& trials = invocation_.cache.trials;
  const std::optional<double> start = trials.own() ? env_.call.seconds() : std::nullopt;
  const Outcome outcome = algorithm.run(env_, problem, invocation_.cache);
  if (start) trials.set_own(static_cast<uint64_t>((*env_.call.seconds() - *start) * 1e9));
  env_.stats.algorithm = static_cast<int>(algorithm.id);
  size_t selected = problem.shards.empty() ? env_.kernels.read(problem.local.nnz.at) : 0;
  for (const SparseSpan& shard : problem.shards) selected += env_.kernels.read(shard.nnz.at);
  const size_t result = env_.kernels.read(outcome.result.nnz.at);
  // After a reduce-scatter, ranks have different results. A call of a group starts from what the
  // call before it confirmed, so that the cache must be complete before confirm().
  if (problem.k == kAll && problem.regions.empty()) invocation_.cache.result = result;
  confirm(selected, result);
  invocation_.communicator.shape_caches().store(invocation_.shape, invocation_.cache);
  if (measured_network_) invocation_.communicator.network_model().network = *measured_network_;
  if (learned_topology_)
    invocation_.communicator.set_topology(invocation_.communicator.network_model().path,
                                          *learned_topology_);
  if (measured_node_network_)
    invocation_.communicator.network_model().nodes = *measured_node_network_;
  return outcome;
}

Outcome Reduction::run_without_reading(const Algorithm& algorithm, const Problem& problem) {
  const Outcome outcome = algorithm.run(env_, problem, invocation_.cache);
  invocation_.call.confirm_counts(env_.kernels,
                                  {problem.local.nnz.at, outcome.result.nnz.at, env_.fault});
  return outcome;
}

bool Reduction::may_skip() const {
  return invocation_.communicator.config().values.nonFinite == sparsecollNonFiniteSkip &&
         !is_integer(env_.kernels.data_type());
}

void Reduction::mark_non_finite(const Problem& problem, const Gradient& gradient, size_t held) {
  if (!may_skip()) return;
  // Entries that are not finite are the largest: if acc has such an entry, so has the selection.
  // The exception: with fewer selected entries than shards, nothing may be selected from a shard
  // that has one.
  std::vector<SparseSpan> vectors(problem.shards.begin(), problem.shards.end());
  if (vectors.empty()) vectors.push_back(problem.local);
  if (problem.k < static_cast<size_t>(invocation_.call.size())) {
    const bool keeps = gradient.residual.write != nullptr;
    uint64_t* const length = env_.kernels.counts(1);
    const Count count{keeps ? held : gradient.count, length};
    env_.kernels.set_count(length, count.bound);
    vectors.push_back(keeps ? SparseSpan{nullptr, gradient.residual.write, count}
                            : env_.kernels.widened({nullptr, gradient.values, count}));
  }
  mark_non_finite(vectors);
}

void Reduction::mark_non_finite(std::span<const SparseSpan> vectors) {
  if (!may_skip()) return;
  const Stopwatch watch(env_.stats, Phase::select);
  // The largest keys are those of infinity and NaN (core/numeric.hpp).
  Kernels& of_values = env_.kernels.of_values();
  uint64_t* const found = env_.kernels.counts(2);
  for (const SparseSpan& each : vectors)
    of_values.key_histogram(env_.kernels.values_of(each), {of_values.keys().end - 2, 0, 1}, found);
  uint64_t infinities_and_nans[2];
  env_.kernels.read(found, 2, infinities_and_nans);
  if (infinities_and_nans[0] + infinities_and_nans[1] > 0) invocation_.call.mark();
}

bool Reduction::skips_residuals() {
  const bool skips = may_skip() && invocation_.call.marked();
  env_.stats.skipped = skips;
  return skips;
}

ResidualRule Reduction::residual_rule(const Algorithm& algorithm) const {
  if (!algorithm.drops_entries) return ResidualRule::conserving;
  return static_cast<ResidualRule>(invocation_.communicator.config().values.residualRule);
}

void Reduction::confirm(size_t selected, size_t result) {
  env_.stats.selected = selected;
  env_.stats.result = result_entries_ = result;
  refuse_malformed(env_.kernels.read(env_.fault));
  invocation_.call.confirm();
}

size_t entries_to_keep(const Communicator& communicator, size_t count, size_t k,
                       size_t block_size) {
  const bool whole = values_of(count, block_size) < communicator.config().values.denseBelow;
  return whole ? count : std::min(k, count);
}

Descriptor describe(Verb verb, const std::array<uint64_t, 5>& arguments) {
  Descriptor descriptor;
  descriptor.verb = static_cast<uint64_t>(verb);
  std::copy(arguments.begin(), arguments.end(), descriptor.argument.begin());
  return descriptor;
}

}  // namespace sparsecoll
