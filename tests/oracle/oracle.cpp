// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "oracle/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "oracle/merge_tree.hpp"
#include "oracle/parts.hpp"

namespace sparsecoll::oracle {
namespace {

template <class T>
bool ranks_before(const Entry<T>& a, const Entry<T>& b) {
  const bool a_nan = std::isnan(a.value);
  const bool b_nan = std::isnan(b.value);
  if (a_nan != b_nan) return a_nan;
  if (!a_nan && std::fabs(a.value) != std::fabs(b.value)) {
    return std::fabs(a.value) > std::fabs(b.value);
  }
  return a.index < b.index;
}

/// The common part of both dense verbs: the result, and residuals that keep what was not sent.
template <class T>
DenseOutcome<T> deliver(const PerRank<std::vector<Wide<T>>>& accs,
                        const PerRank<Sparse<Wide<T>>>& selected, const Sparse<Wide<T>>& result,
                        Op op) {
  const std::size_t P = accs.size();
  DenseOutcome<T> outcome;
  outcome.result = Oracle<T>::scatter(finish<T>(result, op, P), accs[0].size());
  outcome.delivered = result.size();
  outcome.residuals = accs;
  for (std::size_t r = 0; r < P; ++r) {
    outcome.selected.push_back(selected[r].size());
    for (const Entry<Wide<T>>& entry : selected[r]) {
      Wide<T>& residual = outcome.residuals[r][entry.index];
      residual = left_behind(residual, entry.value);
      // Undelivered entries return to the residual: acc, except for rounding if float16 saturates.
      if (!contains(result, entry.index)) residual += entry.value;
    }
  }
  return outcome;
}

}  // namespace

template <class A>
A Arithmetic<A>::canonical(A value) {
  return std::isnan(value) ? std::numeric_limits<A>::quiet_NaN() : value;
}

template <class T>
T Oracle<T>::leaving(Wide<T> value) {
  const T rounded(Oracle<T>::canonical(value));
  return rounded == T{0} ? T{0} : rounded;
}

template <class A>
Sparse<A> Arithmetic<A>::top_k(const Sparse<A>& x, std::uint64_t k) {
  Sparse<A> best;
  for (const Entry<A>& entry : x) {
    if (entry.value != A{0}) best.push_back(entry);
  }
  if (k < best.size()) {
    const auto end = best.begin() + static_cast<std::ptrdiff_t>(k);
    std::nth_element(best.begin(), end, best.end(), ranks_before<A>);
    best.erase(end, best.end());
    std::sort(best.begin(), best.end(), index_before<A>);
  }
  return best;
}

template <class A>
Sparse<A> Arithmetic<A>::top_k(const Sparse<A>& x, std::uint64_t k, std::size_t block) {
  if (block == 1) return top_k(x, k);
  Sparse<double> squares;  // those of blocks
  Sparse<A> vanished;      // blocks whose squares are all 0
  for (std::size_t at = 0; at < x.size(); at += block) {
    double sum = 0;
    bool zeros = true;
    for (std::size_t i = at; i < at + block; ++i) {
      const double value = x[i].value;
      const double square = value * value;
      sum += square;
      zeros = zeros && value == 0;
    }
    if (sum != 0) squares.push_back({at, sum});
    if (sum == 0 && !zeros) vanished.push_back({at, A{0}});
  }
  std::set<std::uint64_t> chosen;
  for (const Entry<double>& each : Arithmetic<double>::top_k(squares, k)) chosen.insert(each.index);
  for (const Entry<A>& each : vanished)
    if (chosen.size() < k) chosen.insert(each.index);
  Sparse<A> best;
  for (const std::uint64_t at : chosen)
    for (std::size_t i = at; i < at + block; ++i) best.push_back(x[i]);
  return best;
}

template <class A>
Sparse<A> Arithmetic<A>::entries_of(const std::vector<A>& dense) {
  Sparse<A> entries;
  for (std::size_t i = 0; i < dense.size(); ++i) entries.push_back({i, dense[i]});
  return entries;
}

template <class A>
Sparse<A> Arithmetic<A>::sum_in_order(const PerRank<Sparse<A>>& inputs) {
  Sparse<A> all;
  for (const Sparse<A>& input : inputs) all.insert(all.end(), input.begin(), input.end());
  std::stable_sort(all.begin(), all.end(), index_before<A>);
  Sparse<A> sum;
  for (const Entry<A>& entry : all) {
    if (sum.empty() || sum.back().index != entry.index) {
      sum.push_back(entry);
    } else {
      sum.back().value += entry.value;
    }
  }
  return sum;
}

/// Returns the sum over these ranks, which are one group of the level above the first `level` ones.
template <class A>
Sparse<A> sum_of_group(const PerRank<Sparse<A>>& inputs, const Levels& levels,
                       const std::vector<std::size_t>& ranks, std::size_t level) {
  PerRank<Sparse<A>> parts;
  std::set<int> done;
  for (const std::size_t rank : ranks) {
    if (level == 0) {
      parts.push_back(inputs[rank]);
      continue;
    }
    const PerRank<int>& groups = levels[level - 1];
    if (!done.insert(groups[rank]).second) continue;
    std::vector<std::size_t> members;
    for (const std::size_t other : ranks) {
      if (groups[other] == groups[rank]) members.push_back(other);
    }
    parts.push_back(sum_of_group(inputs, levels, members, level - 1));
  }
  return Arithmetic<A>::sum_in_order(parts);
}

template <class A>
Sparse<A> Arithmetic<A>::sum_by_level(const PerRank<Sparse<A>>& inputs, const Levels& levels) {
  std::vector<std::size_t> ranks(inputs.size());
  std::iota(ranks.begin(), ranks.end(), std::size_t{0});
  return sum_of_group(inputs, levels, ranks, levels.size());
}

template <class T>
DenseOutcome<T> Oracle<T>::sparse_allreduce(const DenseInputs<T>& in, std::uint64_t k, Op op,
                                            const Levels& levels) {
  const PerRank<std::vector<Wide<T>>> accs = accumulate(in);
  const PerRank<Sparse<Wide<T>>> selected = select_on_each<T>(accs, k);
  const Sparse<Wide<T>> sum = Oracle::sum_by_level(selected, levels);
  DenseOutcome<T> outcome = deliver<T>(accs, selected, Oracle::top_k(sum, k), op);
  if (in.residuals.empty()) outcome.residuals.clear();
  canonicalise(outcome.residuals);
  return outcome;
}

template <class T>
DenseOutcome<T> Oracle<T>::gtopk_allreduce(const DenseInputs<T>& in, std::uint64_t k, Op op,
                                           Rule rule) {
  const PerRank<std::vector<Wide<T>>> accs = accumulate(in);
  const PerRank<Sparse<Wide<T>>> selected = select_on_each<T>(accs, k);
  // In a dense verb SPARSECOLL_ALL means n, since there are never more than n entries.
  const Tree<Wide<T>> tree = merge_tree(selected, std::min<std::uint64_t>(k, accs[0].size()));
  DenseOutcome<T> outcome = deliver<T>(accs, selected, tree.result, op);
  if (rule == Rule::kConserving) return_dropped(tree, outcome.residuals);
  if (in.residuals.empty()) outcome.residuals.clear();
  canonicalise(outcome.residuals);
  return outcome;
}

template <class T>
DenseOutcome<T> Oracle<T>::dense_allreduce(const DenseInputs<T>& in, Op op) {
  const PerRank<std::vector<Wide<T>>> accs = accumulate(in);
  DenseOutcome<T> outcome;
  std::vector<Wide<T>> sum = accs[0];
  for (std::size_t r = 1; r < accs.size(); ++r) {
    for (std::size_t i = 0; i < accs[r].size(); ++i) sum[i] += accs[r][i];
  }
  for (const Wide<T> value : sum) outcome.result.push_back(finish<T>(value, op, accs.size()));
  outcome.delivered = outcome.result.size();
  outcome.selected.assign(accs.size(), outcome.result.size());
  outcome.residuals.assign(in.residuals.size(), std::vector<Wide<T>>(outcome.result.size(), 0));
  return outcome;
}

template <class T>
SparseOutcome<T> Oracle<T>::sparse_allreducev(const SparseInputs<T>& in, std::uint64_t k, Op op,
                                              const Levels& levels) {
  PerRank<Sparse<Wide<T>>> sends;
  for (const Sparse<T>& send : in.sends) sends.push_back(widened(send));
  const Sparse<Wide<T>> sum = Oracle::sum_by_level(sends, levels);
  const Sparse<Wide<T>> result = k == kAll ? sum : Oracle::top_k(sum, k, in.block);
  SparseOutcome<T> outcome;
  for (const Sparse<T>& send : in.sends) outcome.selected.push_back(send.size());
  outcome.residuals = in.residuals;
  for (std::size_t r = 0; r < in.residuals.size(); ++r) {
    for (const Entry<T>& entry : in.sends[r]) {
      if (!contains(result, entry.index)) outcome.residuals[r][entry.index] += entry.value;
    }
  }
  outcome.delivered = result.size();
  outcome.result = finish<T>(result, op, in.sends.size());
  canonicalise(outcome.residuals);
  return outcome;
}

template <class T>
SparseOutcome<T> Oracle<T>::gtopk_allreducev(const SparseInputs<T>& in, std::uint64_t k, Op op,
                                             Rule rule) {
  SparseOutcome<T> outcome;
  PerRank<Sparse<Wide<T>>> selected;
  for (const Sparse<T>& send : in.sends) {
    selected.push_back(k == kAll ? widened(send) : Oracle::top_k(widened(send), k, in.block));
    outcome.selected.push_back(send.size());
  }
  const Tree<Wide<T>> tree = merge_tree(selected, k, in.block);
  outcome.residuals = in.residuals;
  for (std::size_t r = 0; r < in.residuals.size(); ++r) {
    for (const Entry<T>& entry : in.sends[r]) {
      const bool shipped = contains(selected[r], entry.index) && contains(tree.result, entry.index);
      if (!shipped) outcome.residuals[r][entry.index] += entry.value;
    }
  }
  if (rule == Rule::kConserving) return_dropped(tree, outcome.residuals);
  outcome.delivered = tree.result.size();
  outcome.result = finish<T>(tree.result, op, in.sends.size());
  canonicalise(outcome.residuals);
  return outcome;
}

template <class T>
SparseOutcome<T> Oracle<T>::topk(const std::vector<T>& dense, const std::vector<Wide<T>>& residual,
                                 std::uint64_t k, std::size_t block) {
  DenseInputs<T> in;
  in.sends = {dense};
  if (!residual.empty()) in.residuals = {residual};
  const PerRank<std::vector<Wide<T>>> accs = accumulate(in);
  SparseOutcome<T> outcome;
  const Sparse<Wide<T>> selected = select<T>(accs[0], k, block);
  outcome.delivered = selected.size();
  outcome.selected = {selected.size()};
  outcome.result = finish<T>(selected, Op::kSum, 1);
  if (residual.empty()) return outcome;
  outcome.residuals = accs;
  for (const Entry<Wide<T>>& entry : selected) {
    Wide<T>& left = outcome.residuals[0][entry.index];
    left = left_behind(left, entry.value);
  }
  canonicalise(outcome.residuals);
  return outcome;
}

template <class T>
std::vector<T> Oracle<T>::scatter(const Sparse<T>& in, std::size_t count) {
  std::vector<T> dense(count, T{0});
  for (const Entry<T>& entry : in) dense[entry.index] = leaving(entry.value);
  return dense;
}

template struct Arithmetic<float>;
template struct Arithmetic<double>;
template struct Oracle<float>;
template struct Oracle<double>;
template struct Oracle<Float16>;
template struct Oracle<Bfloat16>;

}  // namespace sparsecoll::oracle
