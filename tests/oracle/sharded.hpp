// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The definition of sparsecollAlgoSharded, written as plainly as possible.

#include "oracle/exchange.hpp"
#include "oracle/oracle.hpp"
#include "oracle/wire.hpp"

namespace sparsecoll::oracle {

/// What a call of Sharded is given, besides its inputs.
struct ShardedCall {
  std::uint64_t k = 0;
  Op op = Op::kSum;
  PerRank<int> nodes;  ///< a number for each rank's node; empty: all ranks are on one
  Wire wire = Wire::kNative;
};

/// The indices [begin, end) of the shard that a rank owns; begin = end if it owns none.
struct ShardBounds {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Returns the shard of every rank of a vector of n values. For `nodes` see ShardedCall.
PerRank<ShardBounds> shards_of(std::uint64_t n, std::size_t P, const PerRank<int>& nodes);

template <class T>
struct ShardedOracle {
  /// sparseAllreduce. Residuals have n values, of which the call reads those of the rank's shard
  /// only. In the outcome they are 0 outside the shard. Where sums are rounded, the owners of a
  /// shard have regions of equal load, which this call computes.
  static DenseOutcome<T> sparse_allreduce(const DenseInputs<T>& in, const ShardedCall& call);

  /// sparseReduceScatter, with bounds that agree with the shards. result: the parts of all ranks.
  static Outcome<PerRank<Sparse<T>>, T> reduce_scatter(const DenseInputs<T>& in,
                                                       const ShardedCall& call,
                                                       const PerRank<std::uint64_t>& bounds);
};

extern template struct ShardedOracle<float>;
extern template struct ShardedOracle<double>;
extern template struct ShardedOracle<Float16>;
extern template struct ShardedOracle<Bfloat16>;

}  // namespace sparsecoll::oracle
