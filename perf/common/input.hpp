// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/options.hpp"
#include "common/ranks.hpp"
#include "common/runner.hpp"
#include "common/vectors.hpp"

namespace sparsecoll::perf {

/// One rank's vector of one length, and the entries that the rank selects from it. A simulation has
/// the inputs of all ranks in one process, so that memory is freed when no call needs it any more.
template <class T>
class Input {
 public:
  /// The arguments outlive the input.
  Input(const Options& options, Ranks& ranks, const Vectors<T>& vectors)
      : options_(options), ranks_(ranks), vectors_(vectors) {}

  /// Returns the vector.
  std::span<const T> dense();
  /// Selects the entries of a task whose n, k, ranks and form are set, and puts the input into the
  /// task. It is valid until the next selection. `last`: no selection follows. Collective.
  void select(Task<T>& task, bool last);

 private:
  void generate();
  void make(Task<T>& task, bool last);
  /// Returns whether a call of the task, or the check of its results, reads the vector.
  bool reads_vector(const Task<T>& task) const;

  const Options& options_;
  Ranks& ranks_;
  const Vectors<T>& vectors_;
  std::vector<T> dense_;  ///< empty: not generated
  Entries<Wide<T>> selection_, by_shard_;
  std::vector<T> only_selected_;
};

}  // namespace sparsecoll::perf
