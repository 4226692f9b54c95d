// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Steps that the definitions of several verbs have in common.

#include <cmath>

#include "oracle/oracle.hpp"

namespace sparsecoll::oracle {

/// Returns acc = gradient + residual in the accumulation type, rounded once; the gradient itself if
/// there is no residual.
template <class T>
PerRank<std::vector<Wide<T>>> accumulate(const DenseInputs<T>& in) {
  PerRank<std::vector<Wide<T>>> accs;
  for (const std::vector<T>& send : in.sends) accs.emplace_back(send.begin(), send.end());
  for (std::size_t r = 0; r < in.residuals.size(); ++r) {
    for (std::size_t i = 0; i < accs[r].size(); ++i) accs[r][i] += in.residuals[r][i];
  }
  return accs;
}

template <class T>
Sparse<Wide<T>> widened(const Sparse<T>& x) {
  Sparse<Wide<T>> wide;
  for (const Entry<T>& entry : x) wide.push_back({entry.index, entry.value});
  return wide;
}

/// Returns L of one rank: the top-k of acc, each value rounded to T.
template <class T>
Sparse<Wide<T>> select(const std::vector<Wide<T>>& acc, std::uint64_t k, std::size_t block = 1) {
  Sparse<Wide<T>> selected = Oracle<T>::top_k(Oracle<T>::entries_of(acc), k, block);
  for (Entry<Wide<T>>& entry : selected) entry.value = Oracle<T>::leaving(entry.value);
  return selected;
}

template <class T>
PerRank<Sparse<Wide<T>>> select_on_each(const PerRank<std::vector<Wide<T>>>& accs,
                                        std::uint64_t k) {
  PerRank<Sparse<Wide<T>>> selected;
  for (const std::vector<Wide<T>>& acc : accs) selected.push_back(select<T>(acc, k));
  return selected;
}

/// Returns what a sent entry leaves in the residual: what rounding removed; 0 for values that are
/// not finite.
template <class A>
A left_behind(A acc, A shipped) {
  return std::isfinite(acc) ? acc - shipped : A{0};
}

template <class T>
T finish(Wide<T> value, Op op, std::size_t P) {
  return Oracle<T>::leaving(op == Op::kAvg ? value / static_cast<Wide<T>>(P) : value);
}

template <class T>
Sparse<T> finish(const Sparse<Wide<T>>& sum, Op op, std::size_t P) {
  Sparse<T> result;
  for (const Entry<Wide<T>>& entry : sum)
    result.push_back({entry.index, finish<T>(entry.value, op, P)});
  return result;
}

template <class A>
void canonicalise(PerRank<std::vector<A>>& residuals) {
  for (std::vector<A>& residual : residuals) {
    for (A& value : residual) value = Arithmetic<A>::canonical(value);
  }
}

}  // namespace sparsecoll::oracle
