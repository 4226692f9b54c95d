// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "core/arena.hpp"
#include "core/thread_pool.hpp"
#include "kernels/host/filter.hpp"

namespace sparsecoll::host {

/// When vectors are selected from by stages (staged.hpp), and what tests need to see its rare ways.
struct SelectTuning {
  size_t min_count = 4096;  ///< elements
  size_t min_ratio = 4;     ///< at most this part of them is selected: 1 / 4
  size_t sample_groups = size_t{1}
                         << 13;  ///< of neighbours that the forced_bound is guessed from, at most
  size_t chunk_capacity = 0;     ///< for candidates of a chunk, where k fit; 0: enough
  uint64_t forced_bound = 0;     ///< of a key, instead of a guess; 0: guess
  size_t stream_bytes = 0;       ///< bytes of a residual; 0: what the caches do not hold
  size_t min_chunk = size_t{1} << 17;  ///< elements of a chunk, where there are several
};

/// Null where that level has none, as all have none for integers.
template <class T>
ExtractFunction<T> extract_of(const FilterFunctions& filters) {
  if constexpr (std::is_same_v<T, float>)
    return filters.extract_f32;
  else if constexpr (std::is_same_v<T, double>)
    return filters.extract_f64;
  else
    return nullptr;
}

/// Where chunk `s` of `n` begins, in whole rows.
constexpr size_t cut(size_t count, size_t n, size_t s) {
  return s == n ? count : count / n * s / kRow * kRow;
}

/// Where the host's kernels run: the workspace, the vector instructions and the threads of one
/// communicator.
class Backend {
 public:
  /// Throws InvalidArgument for a level that this machine does not have. `threads` and `pool_index`
  /// as a ThreadPool's.
  Backend(Arena& arena, Simd simd, size_t threads = 1, size_t pool_index = 0);

  Arena& arena() { return arena_; }
  const FilterFunctions& filters() const { return filters_; }
  /// Null: none are worth it.
  const SparseLoops* loops() const { return loops_; }
  SelectTuning& tuning() { return tuning_; }
  size_t stream_bytes() const {
    return tuning_.stream_bytes != 0 ? tuning_.stream_bytes : beyond_caches_;
  }
  size_t threads() const { return threads_.threads(); }
  /// Into how many chunks a loop for_chunks so many elements is best cut.
  size_t chunks(size_t count) const;
  /// Runs task(0) to task(tasks - 1), which must not throw, on the threads.
  void run(size_t tasks, FunctionRef<void(size_t)> task) { threads_.run(tasks, task); }
  /// Runs body(begin, end) for chunks of [0, count).
  void for_chunks(size_t count, FunctionRef<void(size_t, size_t)> body);

 private:
  Arena& arena_;
  const FilterFunctions& filters_;
  const SparseLoops* const loops_;
  SelectTuning tuning_;
  const size_t beyond_caches_;
  ThreadPool threads_;
};

}  // namespace sparsecoll::host
