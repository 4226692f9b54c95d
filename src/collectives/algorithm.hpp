// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "calls/call.hpp"
#include "collectives/shape_cache.hpp"
#include "core/log.hpp"
#include "core/stats.hpp"
#include "kernels/kernels.hpp"

namespace sparsecoll {

class Topology;

/// In what values travel; the numbers of the C API's sparsecollWire_t.
enum class Wire : int { native = 0, bf16 = 1 };

/// What an algorithm works with: the call to its peers, the arithmetic, workspace on the host.
struct Env {
  Call& call;
  Kernels& kernels;
  Arena& arena;
  Stats& stats;
  uint64_t* fault;  ///< a count of the place: malformed messages met, read before the commit
  Wire wire = Wire::native;

  /// Whether values are rounded before they travel. Integers never are.
  bool rounds() const { return wire == Wire::bf16 && !is_integer(kernels.data_type()); }
};

/// What is asked of it.
struct Problem {
  uint64_t count = 0;               ///< n
  size_t k = 0;                     ///< kAll: everything, zeros and cancellations kept
  SparseSpan local;                 ///< L_r, or all of acc in dense form for the dense algorithm
  uint64_t repartition_interval;    ///< calls between two new cuts
  uint64_t threshold_interval = 1;  ///< calls between two new thresholds where they are reused
  /// Reduce-scatter: whose part of the sum each rank gets.
  std::span<const Region> regions = {};
  /// Hierarchical: who shares a node.
  const Topology* topology = nullptr;
  /// LocalPart::whole: how many of all values are not zero, for Auto to go by in the next call.
  std::optional<uint64_t> entries = {};
  /// TopkA2A, instead of `local`: what was selected in each shard, indices from its start.
  std::span<const SparseSpan> shards = {};
};

/// What it gives: the result with undivided sums, and what this rank took off it on the way, by
/// dropping or by rounding (nothing where ranks know themselves what is not delivered).
struct Outcome {
  SparseSpan result;
  SparseSpan dropped;
};

using Algorithm = Outcome (*)(Env&, const Problem&, ShapeCache&);

Outcome allgather_topk(Env& env, const Problem& problem, ShapeCache& cache);
Outcome oktopk(Env& env, const Problem& problem, ShapeCache& cache);
Outcome dense_allreduce(Env& env, const Problem& problem, ShapeCache& cache);
Outcome gtopk(Env& env, const Problem& problem, ShapeCache& cache);
/// The outcome is this rank's region of the sum only.
Outcome reduce_scatter(Env& env, const Problem& problem, ShapeCache& cache);

Outcome topka2a(Env& env, const Problem& problem, ShapeCache& cache);
/// The sums round in another order than the definition's.
Outcome hierarchical(Env& env, const Problem& problem, ShapeCache& cache);

/// Ok-Topk with reused thresholds, and its local selection: every entry of acc of about k that
/// reach the rank's own threshold.
Outcome oktopk_reuse(Env& env, const Problem& problem, ShapeCache& cache);
SparseSpan select_above(Env& env, const Gradient& gradient, size_t k, ShapeCache& cache);

/// A part of the vector of which the k largest entries are selected by themselves.
struct Shard {
  Region region;
  size_t k = 0;
};
/// What TopkA2A selects, one shard for each rank.
std::span<const Shard> topka2a_shards(Env& env, uint64_t count, size_t k);

/// Vectors unpacked from messages, by source.
struct ReceivedVectors {
  std::span<SparseSpan> spans;
  size_t entries = 0;  ///< in all of them
};

/// Values as they travel, and what this rank took off them by rounding.
struct Rounded {
  SparseSpan values;
  SparseSpan lost;  ///< nothing where they travel as they are
};
/// Where env.rounds(), every value rounded to bfloat16; else `in` itself. Whoever rounds uses the
/// rounded values, too, and answers for what is lost.
Rounded round_for_wire(Env& env, const SparseSpan& in);

/// What all ranks sent to this rank's region.
ReceivedVectors alltoall(Env& env, const SparseSpan& local, std::span<const Region> regions);

/// Sum over ranks of each counter, on all ranks. Any P.
void allreduce_counts(Env& env, std::span<uint64_t> counters);

/// Every rank's message, by rank, with a number that its sender put beside it. `about` is how many
/// bytes a message has, as far as all ranks know alike: it decides on the way that they take.
struct Gathered {
  ConstBytes message;
  uint64_t note = 0;
};
std::span<const Gathered> allgather_messages(Env& env, const Gathered& own, size_t about);
/// The same; on_message is told of each rank's, of some before others have come.
std::span<const Gathered> allgather_messages(
    Env& env, const Gathered& own, size_t about,
    FunctionRef<void(int rank, const Gathered& one)> on_message);

/// Room for a message of at most `bytes` on the host, with headroom.
std::byte* packet_room(Env& env, size_t bytes);

/// An empty vector.
SparseBuffer no_entries(Env& env);

}  // namespace sparsecoll
