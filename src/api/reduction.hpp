// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/operation.hpp"
#include "collectives/registry.hpp"

namespace sparsecoll {

/// One reduction in progress. The verbs in dense and in coordinate form share this class.
class Reduction {
 public:
  Reduction(const Invocation& invocation, Kernels& kernels);

  Env& env() { return env_; }
  /// Decides which values share a scale on an int8 wire. Call it before values are rounded.
  void set_scales(const Problem& problem);
  enum class Form { dense, sparse };
  /// Returns the algorithm of sparseAllreduce for this shape: the configured one, or Auto's
  /// choice.
  const Algorithm& sparse_algorithm(const Problem& problem, Form form);
  /// Returns which ranks share a node; null if the communicator does not know it yet.
  const Topology* known_topology() const;
  /// Runs the algorithm. Afterwards all ranks have agreed on the call, and the cache of the shape
  /// is kept for the next call. Writes nothing of the caller's.
  Outcome run(const Algorithm& algorithm, Problem problem);
  /// Runs an algorithm without reading its result on the host. Keeps no cache, so that the next
  /// call must not need one.
  Outcome run_without_reading(const Algorithm& algorithm, const Problem& problem);
  /// Marks the call if acc of this rank has a NaN or an infinity, and sparsecollNonFiniteSkip is
  /// set. `problem` has the selection from the gradient, and `held` is the number of entries in its
  /// residual. Call it before the algorithm runs.
  void mark_non_finite(const Problem& problem, const Gradient& gradient, size_t held);
  /// Marks the call as above, for entries in coordinate form.
  void mark_non_finite(const SparseSpan& entries) { mark_non_finite({&entries, 1}); }
  /// Returns whether all residuals stay as they are, because some rank marked the call, and counts
  /// it in the statistics. Valid after run().
  bool skips_residuals();
  /// Returns the rule for the entries that the algorithm drops on the way: which of them return to
  /// the residual.
  ResidualRule residual_rule(const Algorithm& algorithm) const;
  /// Ends an exchange whose result has `result` entries. Throws RemoteError if a message was
  /// malformed. Afterwards all ranks have agreed on the call.
  void confirm(size_t selected, size_t result);
  /// Number of entries of the result. Valid after run().
  size_t result_entries() const { return result_entries_; }

 private:
  /// Returns whether the call leaves the residuals as they are if acc is not finite.
  bool may_skip() const;
  void mark_non_finite(std::span<const SparseSpan> vectors);
  /// Returns the costs of messages for the model. The first call of the communicator that needs
  /// them measures them.
  Network network();
  /// Returns the costs within and between nodes; null if Auto must not use them.
  const NodeNetwork* nodes();
  /// Returns which ranks share a node. The ranks exchange that once.
  const Topology& topology();
  /// Returns Auto's choice. Where calls can be timed it tries the algorithms: first the ranks agree
  /// on the time of the last call.
  const Algorithm& automatic(const ProblemSize& size, const Network& network);
  /// Returns whether calls can be timed, and times may decide between the algorithms: not if values
  /// are rounded, because then the algorithms give different results.
  bool learns() const;
  /// Logs Auto's choice for a shape if it is new.
  void tell_choice(const Algorithm& chosen, const ProblemSize& size, const Network& network);
  /// Logs a choice, with the predicted and the measured times.
  void log_choice(const Algorithm& chosen, const ProblemSize& size, const Network& network) const;

  const Invocation& invocation_;
  Env env_;
  std::optional<Network> measured_network_;
  std::optional<NodeNetwork> measured_node_network_;
  std::optional<Topology> learned_topology_;
  std::vector<GroupLinks> links_;  ///< the known links between groups; set by nodes()
  size_t result_entries_ = 0;
};

/// Returns the number of entries that a verb in dense form keeps of `count`: k, or all of a tensor
/// that is sent whole (sparsecollConfig_t::denseBelow).
size_t entries_to_keep(const Communicator& communicator, size_t count, size_t k,
                       size_t block_size = 1);

/// Returns the descriptor of a verb with these arguments.
Descriptor describe(Verb verb, const std::array<uint64_t, 5>& arguments);

}  // namespace sparsecoll
