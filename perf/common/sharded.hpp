// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file The definition of sparsecollAlgoSharded, executed serially for finite values and residuals
/// of zeros. This code shares nothing with the library.

#include "common/runner.hpp"
#include "common/vectors.hpp"

namespace sparsecoll::perf {

template <class T>
class ShardedDefinition {
 public:
  /// Reads the vectors of all ranks: P n values.
  ShardedDefinition(const Task<T>& task, const Vectors<T>& vectors);

  /// Returns the entries that the owners of each node send, by node.
  std::span<const Entries<Wide<T>>> sent() const { return sent_; }
  const Entries<Wide<T>>& result() const { return result_; }
  /// Returns the residual of a rank after the call, n values.
  std::vector<Wide<T>> residual(int rank) const;

 private:
  struct Shard {
    std::size_t begin;
    std::size_t end;
    std::size_t k;
  };
  std::vector<Shard> shards() const;
  /// Returns the ranks of the node that has `rank`.
  std::vector<int> ranks_beside(int rank) const;
  std::vector<Wide<T>> sum_of_node(const std::vector<int>& ranks) const;

  const Task<T>& task_;
  const Vectors<T>& vectors_;
  std::vector<Entries<Wide<T>>> sent_;
  Entries<Wide<T>> result_;
};

}  // namespace sparsecoll::perf
