// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/oracle.hpp"
#include "common/ranks.hpp"
#include "common/vectors.hpp"

namespace sparsecoll::perf {

template <class T>
struct Task;

/// What a contestant promises to deliver.
enum class ExpectedResult {
  kTopkOfSum,             ///< the k largest of the sum of the selections
  kMergeTree,             ///< gTop-k's merge tree
  kSumOfSelections,       ///< the sum of the selections
  kSumOfShardSelections,  ///< the sum of the selections by shards
  kSumOfVectors           ///< the sum of the whole vectors
};

/// How closely values must agree.
enum class Accuracy {
  kBits,     ///< the sum's order is promised, or the data make any order exact
  kRounding  ///< any order: within (P + 1) u sum|x|
};

/// Knows the right results of one task, computed when first asked for. Every rank selects from its
/// own vector; the selections, P k entries, are gathered beside the library and the rest is
/// replayed on each rank, so that a check costs O(n + P k) and is always of all n values.
/// Only sums of whole vectors cost O(P n): above a limit they are checked in blocks spread evenly.
template <class T>
class Checker {
 public:
  /// Collective.
  Checker(const Task<T>& task, Ranks& ranks, const Vectors<T>& vectors);
  ~Checker();

  /// Wrong values of a dense result.
  std::size_t wrong_dense(std::span<const T> result, ExpectedResult kind, Accuracy accuracy) const;
  /// Wrong entries of a sparse result, missing and superfluous ones included; bits must agree.
  std::size_t wrong_sparse(std::span<const std::uint32_t> index, std::span<const T> value,
                           ExpectedResult kind) const;
  /// Of a result whose values were rounded to bfloat16 on their way: entries that no rank selected
  /// or that are further from the sum than rounding takes them (from 0, in the merge tree, which
  /// drops parts of sums), and how many too many or too few there are where k are promised.
  std::size_t wrong_rounded(const Entries<Wide<T>>& result, ExpectedResult kind) const;
  /// Wrong entries among those that came to this rank, by source and index; bits must agree.
  std::size_t wrong_received(std::span<const std::uint32_t> index, std::span<const T> value) const;
  /// Wrong values of the residual.
  std::size_t wrong_residual(std::span<const Wide<T>> residual, ExpectedResult kind) const;

  bool exact() const { return vectors_.exact(); }

 private:
  const Entries<Wide<T>>& total() const;
  const Tree<Wide<T>>& tree() const;
  const Entries<Wide<T>>& expected(ExpectedResult kind) const;
  std::size_t wrong_sums(std::span<const T> result, Accuracy accuracy) const;

  const Task<T>& task_;
  int rank_;
  const Vectors<T>& vectors_;
  std::vector<Entries<Wide<T>>> selections_;
  std::vector<Entries<Wide<T>>> by_shard_;  ///< empty where nobody asks for them
  struct Cache;
  std::unique_ptr<Cache> cache_;
};

}  // namespace sparsecoll::perf
