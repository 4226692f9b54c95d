// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Serial oracles, one for each verb: the definitions of the API, written as plainly as possible.
// They see the inputs of all ranks, sort where the library is clever, and share no code with it.
// Results are compared bit for bit, so that the order of the additions is a part of the definition.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "oracle/half.hpp"

namespace sparsecoll::oracle {

/// The k of a `v` verb that selects nothing and keeps zeros.
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

/// The inputs of all ranks. Residuals have the accumulation type. Blocks are given by their values,
/// each an entry of its own.
template <class Send, class T>
struct Inputs {
  PerRank<Send> sends;
  PerRank<std::vector<Wide<T>>> residuals;  ///< empty: no error feedback
  std::size_t block = 1;                    ///< number of values of a block
  std::uint64_t count = 0;  ///< length of a sparse vector, for an int8 wire; 0: of the residuals
};

template <class T>
using DenseInputs = Inputs<std::vector<T>, T>;
template <class T>
using SparseInputs = Inputs<Sparse<T>, T>;

/// The outputs of a verb.
template <class Result, class T>
struct Outcome {
  Result result;                            ///< the same on every rank
  PerRank<std::vector<Wide<T>>> residuals;  ///< empty where the inputs had none
  PerRank<std::size_t> selected;  ///< number of entries that each rank selected or contributed
  std::size_t delivered = 0;      ///< entries of the result
};

template <class T>
using DenseOutcome = Outcome<std::vector<T>, T>;
template <class T>
using SparseOutcome = Outcome<Sparse<T>, T>;

/// The groups of ranks on each level, the innermost first: a number for each rank's group. Every
/// group of a level is part of one group of the next. Without levels each rank is alone.
using Levels = std::vector<PerRank<int>>;

/// The steps of the definitions, in the accumulation type.
template <class A>
struct Arithmetic {
  /// Replaces every NaN by the canonical quiet one, as residuals are read.
  static A canonical(A value);

  /// Returns the k entries of largest magnitude: NaN above Inf above finite values, ties to the
  /// lowest index, never zeros.
  static Sparse<A> top_k(const Sparse<A>& x, std::uint64_t k);
  /// Returns the values of the k blocks with the largest sums of squares, in double: NaN above Inf
  /// above finite sums, ties to the lowest index, never blocks of zeros.
  static Sparse<A> top_k(const Sparse<A>& x, std::uint64_t k, std::size_t block);

  /// Returns all elements as entries, zeros included.
  static Sparse<A> entries_of(const std::vector<A>& dense);

  /// Adds by index in the order of the inputs, beginning with the first value. Zeros stay.
  static Sparse<A> sum_in_order(const PerRank<Sparse<A>>& inputs);

  /// Adds by level: in rank order within each group of the innermost level, and then on each level
  /// the sums of the groups below, in the order of their lowest ranks.
  static Sparse<A> sum_by_level(const PerRank<Sparse<A>>& inputs, const Levels& levels);
};

/// The definitions for values of type T: float, double, Float16 or Bfloat16.
template <class T>
struct Oracle : Arithmetic<Wide<T>> {
  /// Rounds to T, with the canonical NaN and +0 for -0, as results leave the library.
  static T leaving(Wide<T> value);

  /// For `levels`, used by sparsecollAlgoHierarchical, see sum_by_level().
  static DenseOutcome<T> sparse_allreduce(const DenseInputs<T>& in, std::uint64_t k, Op op,
                                          const Levels& levels = {});
  static DenseOutcome<T> gtopk_allreduce(const DenseInputs<T>& in, std::uint64_t k, Op op,
                                         Rule rule);

  /// sparsecollAlgoDense: all sums are delivered, and there is no k.
  static DenseOutcome<T> dense_allreduce(const DenseInputs<T>& in, Op op);

  static SparseOutcome<T> sparse_allreducev(const SparseInputs<T>& in, std::uint64_t k, Op op,
                                            const Levels& levels = {});
  static SparseOutcome<T> gtopk_allreducev(const SparseInputs<T>& in, std::uint64_t k, Op op,
                                           Rule rule);

  /// sparsecollTopk: the selection of one rank. An empty residual stands for none.
  static SparseOutcome<T> topk(const std::vector<T>& dense, const std::vector<Wide<T>>& residual,
                               std::uint64_t k, std::size_t block = 1);

  static std::vector<T> scatter(const Sparse<T>& in, std::size_t count);
};

extern template struct Arithmetic<float>;
extern template struct Arithmetic<double>;
extern template struct Oracle<float>;
extern template struct Oracle<double>;
extern template struct Oracle<Float16>;
extern template struct Oracle<Bfloat16>;

}  // namespace sparsecoll::oracle
