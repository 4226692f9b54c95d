// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include "core/arena.hpp"
#include "core/deadline.hpp"
#include "core/thread_placement.hpp"
#include "core/thread_pool.hpp"
#include "kernels/host/filter.hpp"

namespace sparsecoll::host {

/// The parameters of selection by sample (sampled_select.hpp). Tests change them to reach rare
/// branches.
struct SelectTuning {
  size_t min_count = 4096;                 ///< shortest vector, in elements
  size_t min_ratio = 4;                    ///< selects at most 1 / min_ratio of the elements
  size_t sample_groups = size_t{1} << 13;  ///< groups of adjacent elements to sample, at most
  size_t chunk_capacity = 0;  ///< candidates for which a chunk has memory, at least k; 0: enough
  uint64_t forced_bound = 0;  ///< least key of a candidate; 0: estimate it
  size_t stream_bytes = 0;  ///< size from which vectors are written past the caches; 0: depends on
                            ///< the machine
  size_t min_chunk = size_t{1} << 17;  ///< elements of a chunk if there are several
};

/// Returns the loop that extracts large values, or null if the level has none. No level has one for
/// integers.
template <class T>
ExtractFunction<T> extract_of(const FilterFunctions& filters) {
  if constexpr (std::is_same_v<T, float>)
    return filters.extract_f32;
  else if constexpr (std::is_same_v<T, double>)
    return filters.extract_f64;
  else
    return nullptr;
}

inline FilterFunction<float> filter_of(const FilterFunctions& filters, float) {
  return filters.f32;
}
inline FilterFunction<double> filter_of(const FilterFunctions& filters, double) {
  return filters.f64;
}
inline FilterFunction<Float16> filter_of(const FilterFunctions& filters, Float16) {
  return filters.f16;
}
inline FilterFunction<Bfloat16> filter_of(const FilterFunctions& filters, Bfloat16) {
  return filters.bf16;
}

/// Returns where chunk `s` of `n` begins: at a whole row.
constexpr size_t cut(size_t count, size_t n, size_t s) {
  return s == n ? count : count / n * s / kRow * kRow;
}

/// The host as a backend: workspace, vector instructions and threads of one communicator.
class Backend {
 public:
  /// Throws InvalidArgument for a level that this machine does not have. ThreadPool explains
  /// `threads` and `placement`.
  Backend(Arena& arena, Simd simd, size_t threads = 1, const ThreadPlacement& placement = {});

  Arena& arena() { return arena_; }
  const FilterFunctions& filters() const { return filters_; }
  /// Returns the loops for sparse entries; null if this level has none.
  const SparseLoops* loops() const { return loops_; }
  SelectTuning& tuning() { return tuning_; }
  /// Returns whether a dense vector of this size is too large for the caches, together with the
  /// others that a call reads and writes. Then stores to it bypass them.
  bool is_beyond_caches(size_t bytes);
  size_t threads() const { return threads_.threads(); }
  /// Makes long selections throw Timeout at the deadline. Returns the deadline that was set before.
  Deadline set_deadline(const Deadline& deadline) { return std::exchange(deadline_, deadline); }
  const Deadline& deadline() const { return deadline_; }
  /// Returns the number of chunks into which a loop over `count` elements is cut.
  size_t chunks(size_t count) const;
  /// Runs task(0) to task(tasks - 1) on the threads. Tasks must not throw.
  void run(size_t tasks, FunctionRef<void(size_t)> task) { threads_.run(tasks, task); }
  /// Runs body(begin, end) for chunks of [0, count).
  void for_chunks(size_t count, FunctionRef<void(size_t, size_t)> body);

 private:
  Arena& arena_;
  const FilterFunctions& filters_;
  const SparseLoops* const loops_;
  SelectTuning tuning_;
  const ThreadPlacement placement_;
  std::optional<size_t> cache_bytes_;  ///< the rank's share, once it was needed
  ThreadPool threads_;
  Deadline deadline_;
};

}  // namespace sparsecoll::host
