// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/operation.hpp"
#include "collectives/registry.hpp"

namespace sparsecoll {

/// One reduction in progress, dense or in coordinate form: what both forms share between their own
/// ways in and out.
class Reduction {
 public:
  Reduction(const Invocation& invocation, Kernels& kernels);

  Env& env() { return env_; }
  /// What the shape's last call left, for the local part of the work.
  ShapeCache& cache() { return invocation_.cache; }
  enum class Form { dense, sparse };
  /// The algorithm that sparse allreduce uses for this shape.
  const AlgorithmEntry& sparse_algorithm(const Problem& problem, Form form);
  /// How many of these values are not zero.
  uint64_t count_entries(const SparseSpan& values);
  /// Says so instead of what run() counted, which was all values.
  void correct_counts(uint64_t selected, uint64_t result);
  /// Runs it; afterwards every rank is known to have made the call, what the shape's next call may
  /// use is kept, and the outcome is complete. Touches nothing of the caller's.
  Outcome run(Algorithm algorithm, AlgorithmId id, Problem problem);
  /// The same where neither the shape's next call nor the host needs to know anything of this one.
  Outcome run_settled(Algorithm algorithm, const Problem& problem);
  /// A residual takes up what rounding took off values all of which were sent, or delivered.
  void keep_lost(const SparseSpan& lost, void* residual);
  /// The end of an exchange that leaves `result` entries: nothing was malformed, and every rank is
  /// known to have made the call.
  void complete(size_t selected, size_t result);
  /// Entries in the result, after run().
  size_t result_entries() const { return result_entries_; }

 private:
  /// What the model takes the network to be: as measured once for the communicator, by its first
  /// call that asks.
  Network network();
  /// The same of nodes, where Auto may go by them; else null.
  const Nodes* nodes();
  /// Who shares a node, as the ranks told each other once, likewise.
  const Topology& topology();
  /// What Auto takes for the shape from now on.
  void tell_choice(const AlgorithmEntry& chosen, const Shape& shape, const Network& network) const;

  const Invocation& invocation_;
  Env env_;
  std::optional<Network> measured_;
  std::optional<Nodes> measured_nodes_;
  std::optional<Topology> learned_;
  size_t result_entries_ = 0;
};

/// What the ranks agree on in one verb.
Descriptor describe(Verb verb, const std::array<uint64_t, 5>& arguments);

}  // namespace sparsecoll
