// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "core/arena.hpp"
#include "core/thread_pool.hpp"
#include "kernels/host/sweep.hpp"

namespace sparsecoll::host {

/// When vectors are selected from by stages (staged.hpp), and what tests need to see its rare ways.
struct Tuning {
  size_t staged_from = 4096;             ///< elements
  size_t staged_part = 4;                ///< at most this part of them is selected: 1 / 4
  size_t groups = size_t{1} << 13;       ///< of neighbours that the bound is guessed from, at most
  size_t room = 0;                       ///< for candidates of a stretch, where k fit; 0: enough
  uint64_t bound = 0;                    ///< of a key, instead of a guess; 0: guess
  size_t streamed_from = 0;              ///< bytes of a residual; 0: what the caches do not hold
  size_t shared_from = size_t{1} << 17;  ///< elements of a stretch, where there are several
};

/// Null where that level has none, as all have none for integers.
template <class T>
HarvestFunction<T> harvest_of(const Sweeps& sweeps) {
  if constexpr (std::is_same_v<T, float>)
    return sweeps.harvest_f32;
  else if constexpr (std::is_same_v<T, double>)
    return sweeps.harvest_f64;
  else
    return nullptr;
}

/// Where stretch `s` of `n` begins, in whole rows.
constexpr size_t cut(size_t count, size_t n, size_t s) {
  return s == n ? count : count / n * s / kRow * kRow;
}

/// Where the host's kernels run: the workspace, the vector instructions and the threads of one
/// communicator.
class Backend {
 public:
  /// Throws InvalidArgument for a level that this machine does not have. `threads` and `seat` as a
  /// ThreadPool's.
  Backend(Arena& arena, Simd simd, size_t threads = 1, size_t seat = 0);

  Arena& arena() { return arena_; }
  const Sweeps& sweeps() const { return sweeps_; }
  /// Null: none are worth it.
  const Sifts* sifts() const { return sifts_; }
  Tuning& tuning() { return tuning_; }
  size_t streamed_from() const {
    return tuning_.streamed_from != 0 ? tuning_.streamed_from : beyond_caches_;
  }
  size_t threads() const { return threads_.threads(); }
  /// Into how many stretches a loop over so many elements is best cut.
  size_t stretches(size_t count) const;
  /// Runs task(0) to task(tasks - 1), which must not throw, on the threads.
  void run(size_t tasks, FunctionRef<void(size_t)> task) { threads_.run(tasks, task); }
  /// Runs body(begin, end) for stretches of [0, count).
  void over(size_t count, FunctionRef<void(size_t, size_t)> body);

 private:
  Arena& arena_;
  const Sweeps& sweeps_;
  const Sifts* const sifts_;
  Tuning tuning_;
  const size_t beyond_caches_;
  ThreadPool threads_;
};

}  // namespace sparsecoll::host
