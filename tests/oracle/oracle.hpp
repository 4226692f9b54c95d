// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Serial oracles, one per verb: the definitions of the API written down as plainly as possible.
// They see the inputs of all ranks at once, sort where the library does anything clever, and share
// no code with it. Results are compared bit for bit, so the order of the additions is part of them.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "oracle/half.hpp"

namespace sparsecoll::oracle {

/// As k of a `v` verb: no selection, zeros kept.
inline constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

enum class Op { kSum, kAvg };
enum class Rule { kConserving, kPaper };

template <class T>
struct Entry {
  std::uint64_t index;
  T value;
};

/// Entries in strictly increasing order of index.
template <class T>
using Sparse = std::vector<Entry<T>>;

/// One element per rank.
template <class X>
using PerRank = std::vector<X>;

/// What every rank puts in. Residuals are of the accumulation type.
template <class Send, class T>
struct Inputs {
  PerRank<Send> sends;
  PerRank<std::vector<Wide<T>>> residuals;  ///< empty: no error feedback
};

template <class T>
using DenseInputs = Inputs<std::vector<T>, T>;
template <class T>
using SparseInputs = Inputs<Sparse<T>, T>;

/// What a verb leaves behind.
template <class Result, class T>
struct Outcome {
  Result result;                            ///< the same on every rank
  PerRank<std::vector<Wide<T>>> residuals;  ///< empty where the inputs had none
  PerRank<std::size_t> selected;            ///< how many entries each rank selected or put in
  std::size_t delivered = 0;                ///< entries of the result
};

template <class T>
using DenseOutcome = Outcome<std::vector<T>, T>;
template <class T>
using SparseOutcome = Outcome<Sparse<T>, T>;

/// What the definitions are made of, in the accumulation type.
template <class A>
struct Arithmetic {
  /// Every NaN becomes the canonical quiet one: how residuals are read.
  static A canonical(A value);

  /// The k entries of largest magnitude: NaN above Inf above finite, ties to the lowest index,
  /// zeros never.
  static Sparse<A> top_k(const Sparse<A>& x, std::uint64_t k);

  /// All elements as entries, zeros included.
  static Sparse<A> entries_of(const std::vector<A>& dense);

  /// The sum by index in the order of the pieces, from the first present value on. Zeros stay.
  static Sparse<A> sum_in_order(const PerRank<Sparse<A>>& pieces);

  /// The same by node: in rank order within each, then the nodes' sums by their lowest ranks.
  /// `nodes`: a number for each rank's node; empty: no two ranks share one.
  static Sparse<A> sum_by_node(const PerRank<Sparse<A>>& pieces, const PerRank<int>& nodes);
};

/// The definitions for values of type T: float, double, Float16 or Bfloat16.
template <class T>
struct Oracle : Arithmetic<Wide<T>> {
  /// Rounded to T, the canonical NaN, and -0 becomes +0: how results leave the library.
  static T leaving(Wide<T> value);

  /// `nodes`: as in sum_by_node(), for sparsecollAlgoHierarchical.
  static DenseOutcome<T> sparse_allreduce(const DenseInputs<T>& in, std::uint64_t k, Op op,
                                          const PerRank<int>& nodes = {});
  static DenseOutcome<T> gtopk_allreduce(const DenseInputs<T>& in, std::uint64_t k, Op op,
                                         Rule rule);

  /// sparsecollAlgoDense: everything is delivered, there is no k.
  static DenseOutcome<T> dense_allreduce(const DenseInputs<T>& in, Op op);

  static SparseOutcome<T> sparse_allreducev(const SparseInputs<T>& in, std::uint64_t k, Op op,
                                            const PerRank<int>& nodes = {});
  static SparseOutcome<T> gtopk_allreducev(const SparseInputs<T>& in, std::uint64_t k, Op op,
                                           Rule rule);

  /// sparsecollTopk: the selection of one rank. An empty residual is none.
  static SparseOutcome<T> topk(const std::vector<T>& dense, const std::vector<Wide<T>>& residual,
                               std::uint64_t k);

  static std::vector<T> scatter(const Sparse<T>& in, std::size_t count);
};

extern template struct Arithmetic<float>;
extern template struct Arithmetic<double>;
extern template struct Oracle<float>;
extern template struct Oracle<double>;
extern template struct Oracle<Float16>;
extern template struct Oracle<Bfloat16>;

}  // namespace sparsecoll::oracle
