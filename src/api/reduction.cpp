// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/reduction.hpp"

#include "core/error.hpp"

namespace sparsecoll {

Reduction::Reduction(const Turn& turn, Kernels& kernels)
    : turn_(turn),
      env_{turn.call, kernels, turn.communicator.arena(), turn.call.stats(), kernels.counts(1)} {
  turn.call.read_with(kernels);
}

const AlgorithmEntry& Reduction::sparse_algorithm(const Problem& problem) const {
  const AlgorithmEntry& configured = *find_algorithm(turn_.communicator.config().values.algorithm);
  const bool reuses = turn_.communicator.config().values.selection == sparsecollSelectReuse;
  if (reuses && problem.k != kAll) return reusing_oktopk();
  if (configured.run) return configured;
  return choose_algorithm({turn_.call.size(), problem.count, problem.k,
                           size_of(env_.kernels.data_type()), turn_.warm.entries});
}

Outcome Reduction::run(Algorithm algorithm, AlgorithmId id, Problem problem) {
  problem.repartition_interval =
      static_cast<uint64_t>(turn_.communicator.config().values.repartitionInterval);
  problem.threshold_interval =
      static_cast<uint64_t>(turn_.communicator.config().values.thresholdInterval);
  const Outcome outcome = algorithm(env_, problem, turn_.warm);
  env_.stats.algorithm = static_cast<int>(id);
  size_t selected = problem.shards.empty() ? env_.kernels.read(problem.local.nnz.at) : 0;
  for (const SparseSpan& shard : problem.shards) selected += env_.kernels.read(shard.nnz.at);
  complete(selected, env_.kernels.read(outcome.result.nnz.at));
  turn_.communicator.keep_warm(turn_.descriptor.hash(), turn_.warm);
  return outcome;
}

Outcome Reduction::run_settled(Algorithm algorithm, const Problem& problem) {
  const Outcome outcome = algorithm(env_, problem, turn_.warm);
  turn_.call.settle(env_.kernels, {problem.local.nnz.at, outcome.result.nnz.at, env_.fault});
  return outcome;
}

void Reduction::complete(size_t selected, size_t result) {
  env_.stats.selected = selected;
  env_.stats.result = result_entries_ = result;
  if (env_.kernels.read(env_.fault) != 0)
    fail(sparsecollRemoteError, "a message was malformed: expected sound counts and indices");
  turn_.call.confirm();
}

Descriptor describe(Verb verb, const std::array<uint64_t, 5>& arguments) {
  Descriptor descriptor;
  descriptor.verb = static_cast<uint64_t>(verb);
  std::copy(arguments.begin(), arguments.end(), descriptor.argument.begin());
  return descriptor;
}

}  // namespace sparsecoll
