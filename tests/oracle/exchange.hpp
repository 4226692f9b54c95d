// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The verbs that send entries to the owners of their indices, and TopkA2A.

#include "oracle/oracle.hpp"

namespace sparsecoll::oracle {

/// Returns floor(r * count / P) for r = 0 .. P, the bounds for which NULL stands.
std::vector<std::size_t> even_bounds(std::uint64_t count, std::size_t P);

/// The entries that one rank receives: by source and, for each source, by index, so that indices
/// may repeat.
template <class T>
struct Received {
  Sparse<T> entries;
  std::vector<std::size_t> counts;  ///< from each source
};

/// Takes any type, integers included.
template <class T>
PerRank<Received<T>> alltoall(const PerRank<Sparse<T>>& sends,
                              const std::vector<std::size_t>& bounds);

template <class T>
struct ExchangeOracle {
  /// result: the parts of all ranks.
  static Outcome<PerRank<Sparse<T>>, T> reduce_scatter(const DenseInputs<T>& in, std::uint64_t k,
                                                       Op op,
                                                       const std::vector<std::size_t>& bounds);

  /// sparsecollAlgoTopkA2A.
  static DenseOutcome<T> topka2a(const DenseInputs<T>& in, std::uint64_t k, Op op);
};

}  // namespace sparsecoll::oracle
