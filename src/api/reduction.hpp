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
  enum class Form { dense, sparse };
  /// Returns the algorithm of sparseAllreduce for this shape: the configured one, or what Auto
  /// takes.
  const Algorithm& sparse_algorithm(const Problem& problem, Form form);
  /// Runs the algorithm. Afterwards all ranks have agreed on the call, and the cache of the shape
  /// is kept for the next call. Writes nothing of the caller's.
  Outcome run(const Algorithm& algorithm, Problem problem);
  /// Runs an algorithm of which neither the host nor the next call needs a result. Keeps no cache.
  Outcome run_unread(const Algorithm& algorithm, const Problem& problem);
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
  /// Logs a new choice of Auto for a shape, with the predicted times.
  void log_choice(const Algorithm& chosen, const Shape& shape, const Network& network) const;

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
