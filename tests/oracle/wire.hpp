// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Definitions of the verbs where values travel in bfloat16 or in 8 bits with a scale, and the rank
// that rounds keeps the difference.

#include <cmath>

#include "oracle/oracle.hpp"

namespace sparsecoll::oracle {

/// How the values of messages are rounded.
enum class Wire { kNative, kBf16, kInt8 };

/// The part of a value that travels in bfloat16, and the part that stays with the rank that rounds.
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

/// Returns how many consecutive values share a scale on an int8 wire, if k of `count` entries of
/// `block` values each are kept.
std::uint64_t values_of_a_scale(std::uint64_t count, std::uint64_t k, std::size_t block);

/// A wire, and on an int8 wire the number of values that share a scale.
struct Rounding {
  Wire wire = Wire::kNative;
  std::uint64_t width = 0;
};

/// Rounds the values of x. Returns what that removes from each. Regions are rounded apart: borders
/// between them cut the values that share a scale.
template <class A>
Sparse<A> round_for_wire(Sparse<A>& x, const Rounding& rounding, const Borders& regions = {});

/// Whether sums are sent on, and are rounded for that.
enum class Sums {
  kStay,   ///< sums are not sent: Allgather, and sparseReduceScatter
  kTravel  ///< owners of regions of equal load, which this call computes, send sums: Oktopk
};

template <class T>
struct WireOracle {
  static SparseOutcome<T> sparse_allreducev(const SparseInputs<T>& in, std::uint64_t k, Op op,
                                            Sums sums, Wire wire = Wire::kBf16);
  static SparseOutcome<T> gtopk_allreducev(const SparseInputs<T>& in, std::uint64_t k, Op op,
                                           Rule rule, Wire wire = Wire::kBf16);

  // Computes the dense form: sparsecollTopk, the verb above, sparsecollScatter.
  static DenseOutcome<T> sparse_allreduce(const DenseInputs<T>& in, std::uint64_t k, Op op,
                                          Sums sums, Wire wire = Wire::kBf16);
  static DenseOutcome<T> gtopk_allreduce(const DenseInputs<T>& in, std::uint64_t k, Op op,
                                         Rule rule, Wire wire = Wire::kBf16);
  static DenseOutcome<T> topka2a(const DenseInputs<T>& in, std::uint64_t k, Op op,
                                 Wire wire = Wire::kBf16);
  /// result: the parts of all ranks.
  static Outcome<PerRank<Sparse<T>>, T> reduce_scatter(const DenseInputs<T>& in, std::uint64_t k,
                                                       Op op, const Borders& bounds,
                                                       Wire wire = Wire::kBf16);
};

extern template struct WireOracle<float>;
extern template struct WireOracle<double>;
extern template struct WireOracle<Float16>;
extern template struct WireOracle<Bfloat16>;

}  // namespace sparsecoll::oracle
