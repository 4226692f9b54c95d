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
template <class T>
class ShardedDefinition;

/// The result that the definition of an algorithm prescribes.
enum class ExpectedResult {
  kTopkOfSum,             ///< the k largest of the sum of the selections
  kMergeTree,             ///< gTop-k's merge tree
  kSumOfSelections,       ///< the sum of the selections
  kSumOfShardSelections,  ///< the sum of the selections by shards
  kSharded,               ///< the k largest, by shard, of the sum of the nodes' selections
  kSumOfVectors           ///< the sum of the whole vectors
};

/// The agreement with the definition that a result must have.
enum class Accuracy {
  kBits,     ///< equal bits: the order of the sum is defined, or sums are exact
  kRounding  ///< the order is free: the error is at most (P + 1) u sum|x|
};

/// Compares results with the definition, executed serially.
///
/// Every rank selects from its own vector. The selections, P k entries, are gathered without the
/// library, and each rank computes the expected result from them when it first needs it. A check
/// costs O(n + P k) and covers all n values. Sharded and a sum of whole vectors cost O(P n); above
/// a limit the sum is checked in blocks that are spread evenly.
template <class T>
class Checker {
 public:
  /// Collective.
  Checker(const Task<T>& task, Ranks& ranks, const Vectors<T>& vectors);
  ~Checker();

  /// Returns the number of wrong values of a dense result.
  std::size_t wrong_dense(std::span<const T> result, ExpectedResult kind, Accuracy accuracy) const;
  /// Returns the number of wrong, missing and superfluous entries of a sparse result. Bits must
  /// agree.
  std::size_t wrong_sparse(std::span<const std::uint32_t> index, std::span<const T> value,
                           ExpectedResult kind) const;
  /// Returns the number of wrong entries of a result whose values were sent in bfloat16. An entry
  /// is wrong if no rank selected it, or if its distance from the sum is larger than rounding
  /// explains. The merge tree drops parts of sums: there an entry is wrong if its magnitude is
  /// larger than the sum of all magnitudes and rounding explain. If the definition prescribes k
  /// entries, missing and superfluous ones count, too.
  std::size_t wrong_rounded(const Entries<Wide<T>>& result, ExpectedResult kind) const;
  /// Returns the number of wrong entries among those that this rank received, in the order of their
  /// sender, then index. Bits must agree.
  std::size_t wrong_received(std::span<const std::uint32_t> index, std::span<const T> value) const;
  /// Returns the number of wrong values of the residual.
  std::size_t wrong_residual(std::span<const Wide<T>> residual, ExpectedResult kind) const;

  /// Returns true if sums of the data are exact in any order.
  bool exact() const { return vectors_.exact(); }

 private:
  const Entries<Wide<T>>& total() const;
  const Tree<Wide<T>>& tree() const;
  const ShardedDefinition<T>& sharded() const;
  const Entries<Wide<T>>& expected(ExpectedResult kind) const;
  std::size_t wrong_sums(std::span<const T> result, Accuracy accuracy) const;

  const Task<T>& task_;
  int rank_;
  const Vectors<T>& vectors_;
  std::vector<Entries<Wide<T>>> selections_;
  std::vector<Entries<Wide<T>>> by_shard_;  ///< empty if no algorithm needs them
  struct Cache;
  std::unique_ptr<Cache> cache_;
};

}  // namespace sparsecoll::perf
