// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Definitions of the verbs with sparsecollWireBf16: values travel in bfloat16, and the rank that
// rounds keeps the difference.

#include <cmath>

#include "oracle/oracle.hpp"

namespace sparsecoll::oracle {

/// The part of a value that travels, and the part that stays with the rank that rounds.
template <class A>
A on_bf16_wire(A value) {
  const A rounded = static_cast<A>(static_cast<float>(Bfloat16(static_cast<double>(value))));
  return rounded == A{0} ? A{0} : rounded;
}
template <class A>
A off_bf16_wire(A value) {
  return std::isfinite(value) ? value - on_bf16_wire(value) : A{0};
}

/// P + 1 borders between regions: rank r owns the indices from borders[r] to borders[r + 1].
using Borders = std::vector<std::uint64_t>;
std::size_t owner_of(std::uint64_t index, const Borders& borders);

/// Returns regions in which all vectors together have about equally many entries. Border r is where
/// the share r / P of them is reached, by a histogram of 4096 ranges of indices.
template <class A>
Borders equal_load(const PerRank<Sparse<A>>& all, std::uint64_t count);

/// Whether sums are sent on, and are rounded for that.
enum class Sums {
  kStay,   ///< sums are not sent: Allgather, and sparseReduceScatter
  kTravel  ///< owners of regions of equal load, which this call computes, send sums: Oktopk
};

template <class T>
struct Bf16Oracle {
  static SparseOutcome<T> sparse_allreducev(const SparseInputs<T>& in, std::uint64_t k, Op op,
                                            Sums sums);
  static SparseOutcome<T> gtopk_allreducev(const SparseInputs<T>& in, std::uint64_t k, Op op,
                                           Rule rule);

  // Computes the dense form: sparsecollTopk, the verb above, sparsecollScatter.
  static DenseOutcome<T> sparse_allreduce(const DenseInputs<T>& in, std::uint64_t k, Op op,
                                          Sums sums);
  static DenseOutcome<T> gtopk_allreduce(const DenseInputs<T>& in, std::uint64_t k, Op op,
                                         Rule rule);
  static DenseOutcome<T> topka2a(const DenseInputs<T>& in, std::uint64_t k, Op op);
  /// result: the parts of all ranks.
  static Outcome<PerRank<Sparse<T>>, T> reduce_scatter(const DenseInputs<T>& in, std::uint64_t k,
                                                       Op op, const Borders& bounds);
};

extern template struct Bf16Oracle<float>;
extern template struct Bf16Oracle<double>;
extern template struct Bf16Oracle<Float16>;
extern template struct Bf16Oracle<Bfloat16>;

}  // namespace sparsecoll::oracle
