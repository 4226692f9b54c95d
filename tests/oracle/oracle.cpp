// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "oracle/oracle.hpp"

#include <algorithm>
#include <cmath>

#include "oracle/merge_tree.hpp"

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

/// acc = gradient + residual, one rounding; the gradient itself when there is no residual.
template <class T>
PerRank<std::vector<T>> accumulate(const DenseInputs<T>& in) {
  PerRank<std::vector<T>> accs = in.sends;
  for (std::size_t r = 0; r < in.residuals.size(); ++r) {
    for (std::size_t i = 0; i < accs[r].size(); ++i) accs[r][i] += in.residuals[r][i];
  }
  return accs;
}

template <class T>
PerRank<Sparse<T>> select_on_each(const PerRank<std::vector<T>>& accs, std::uint64_t k) {
  PerRank<Sparse<T>> selected;
  for (const std::vector<T>& acc : accs) {
    selected.push_back(Oracle<T>::top_k(Oracle<T>::entries_of(acc), k));
  }
  return selected;
}

template <class T>
T finish(T value, Op op, std::size_t P) {
  return Oracle<T>::leaving(op == Op::kAvg ? value / static_cast<T>(P) : value);
}

template <class T>
Sparse<T> finish(Sparse<T> sum, Op op, std::size_t P) {
  for (Entry<T>& entry : sum) entry.value = finish(entry.value, op, P);
  return sum;
}

template <class T>
void canonicalise(PerRank<std::vector<T>>& residuals) {
  for (std::vector<T>& residual : residuals) {
    for (T& value : residual) value = Oracle<T>::canonical(value);
  }
}

/// What both dense verbs have in common: the result, and residuals that keep what was not shipped.
template <class T>
DenseOutcome<T> deliver(const PerRank<std::vector<T>>& accs, const PerRank<Sparse<T>>& selected,
                        const Sparse<T>& result, Op op) {
  const std::size_t P = accs.size();
  DenseOutcome<T> outcome;
  outcome.result = Oracle<T>::scatter(finish(result, op, P), accs[0].size());
  outcome.delivered = result.size();
  outcome.residuals = accs;
  for (std::size_t r = 0; r < P; ++r) {
    outcome.selected.push_back(selected[r].size());
    for (const Entry<T>& entry : selected[r]) {
      if (contains(result, entry.index)) outcome.residuals[r][entry.index] = T{0};
    }
  }
  return outcome;
}

}  // namespace

template <class T>
T Oracle<T>::canonical(T value) {
  return std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
}

template <class T>
T Oracle<T>::leaving(T value) {
  return value == T{0} ? T{0} : canonical(value);
}

template <class T>
Sparse<T> Oracle<T>::top_k(const Sparse<T>& x, std::uint64_t k) {
  Sparse<T> best;
  for (const Entry<T>& entry : x) {
    if (entry.value != T{0}) best.push_back(entry);
  }
  if (k < best.size()) {
    const auto end = best.begin() + static_cast<std::ptrdiff_t>(k);
    std::partial_sort(best.begin(), end, best.end(), ranks_before<T>);
    best.erase(end, best.end());
    std::sort(best.begin(), best.end(), index_before<T>);
  }
  return best;
}

template <class T>
Sparse<T> Oracle<T>::entries_of(const std::vector<T>& dense) {
  Sparse<T> entries;
  for (std::size_t i = 0; i < dense.size(); ++i) entries.push_back({i, dense[i]});
  return entries;
}

template <class T>
Sparse<T> Oracle<T>::sum_in_order(const PerRank<Sparse<T>>& pieces) {
  Sparse<T> all;
  for (const Sparse<T>& piece : pieces) all.insert(all.end(), piece.begin(), piece.end());
  std::stable_sort(all.begin(), all.end(), index_before<T>);
  Sparse<T> sum;
  for (const Entry<T>& entry : all) {
    if (sum.empty() || sum.back().index != entry.index) {
      sum.push_back(entry);
    } else {
      sum.back().value += entry.value;
    }
  }
  return sum;
}

template <class T>
DenseOutcome<T> Oracle<T>::sparse_allreduce(const DenseInputs<T>& in, std::uint64_t k, Op op) {
  const PerRank<std::vector<T>> accs = accumulate(in);
  const PerRank<Sparse<T>> selected = select_on_each(accs, k);
  DenseOutcome<T> outcome = deliver(accs, selected, top_k(sum_in_order(selected), k), op);
  if (in.residuals.empty()) outcome.residuals.clear();
  canonicalise(outcome.residuals);
  return outcome;
}

template <class T>
DenseOutcome<T> Oracle<T>::gtopk_allreduce(const DenseInputs<T>& in, std::uint64_t k, Op op,
                                           Rule rule) {
  const PerRank<std::vector<T>> accs = accumulate(in);
  const PerRank<Sparse<T>> selected = select_on_each(accs, k);
  // In a dense verb SPARSECOLL_ALL is simply n, and n entries are never exceeded.
  const Tree<T> tree = merge_tree(selected, std::min<std::uint64_t>(k, accs[0].size()));
  DenseOutcome<T> outcome = deliver(accs, selected, tree.result, op);
  if (rule == Rule::kConserving) return_dropped(tree, outcome.residuals);
  if (in.residuals.empty()) outcome.residuals.clear();
  canonicalise(outcome.residuals);
  return outcome;
}

template <class T>
DenseOutcome<T> Oracle<T>::dense_allreduce(const DenseInputs<T>& in, Op op) {
  const PerRank<std::vector<T>> accs = accumulate(in);
  DenseOutcome<T> outcome;
  outcome.result = accs[0];
  for (std::size_t r = 1; r < accs.size(); ++r) {
    for (std::size_t i = 0; i < accs[r].size(); ++i) outcome.result[i] += accs[r][i];
  }
  for (T& value : outcome.result) value = finish(value, op, accs.size());
  outcome.delivered = outcome.result.size();
  outcome.selected.assign(accs.size(), outcome.result.size());
  outcome.residuals.assign(in.residuals.size(), std::vector<T>(outcome.result.size(), T{0}));
  return outcome;
}

template <class T>
SparseOutcome<T> Oracle<T>::sparse_allreducev(const SparseInputs<T>& in, std::uint64_t k, Op op) {
  const Sparse<T> sum = sum_in_order(in.sends);
  const Sparse<T> result = k == kAll ? sum : top_k(sum, k);
  SparseOutcome<T> outcome;
  for (const Sparse<T>& send : in.sends) outcome.selected.push_back(send.size());
  outcome.residuals = in.residuals;
  for (std::size_t r = 0; r < in.residuals.size(); ++r) {
    for (const Entry<T>& entry : in.sends[r]) {
      if (!contains(result, entry.index)) outcome.residuals[r][entry.index] += entry.value;
    }
  }
  outcome.delivered = result.size();
  outcome.result = finish(result, op, in.sends.size());
  canonicalise(outcome.residuals);
  return outcome;
}

template <class T>
SparseOutcome<T> Oracle<T>::gtopk_allreducev(const SparseInputs<T>& in, std::uint64_t k, Op op,
                                             Rule rule) {
  SparseOutcome<T> outcome;
  PerRank<Sparse<T>> selected;
  for (const Sparse<T>& send : in.sends) {
    selected.push_back(k == kAll ? send : top_k(send, k));
    outcome.selected.push_back(send.size());
  }
  const Tree<T> tree = merge_tree(selected, k);
  outcome.residuals = in.residuals;
  for (std::size_t r = 0; r < in.residuals.size(); ++r) {
    for (const Entry<T>& entry : in.sends[r]) {
      const bool shipped = contains(selected[r], entry.index) && contains(tree.result, entry.index);
      if (!shipped) outcome.residuals[r][entry.index] += entry.value;
    }
  }
  if (rule == Rule::kConserving) return_dropped(tree, outcome.residuals);
  outcome.delivered = tree.result.size();
  outcome.result = finish(tree.result, op, in.sends.size());
  canonicalise(outcome.residuals);
  return outcome;
}

template <class T>
SparseOutcome<T> Oracle<T>::topk(const std::vector<T>& dense, const std::vector<T>& residual,
                                 std::uint64_t k) {
  DenseInputs<T> in;
  in.sends = {dense};
  if (!residual.empty()) in.residuals = {residual};
  const PerRank<std::vector<T>> accs = accumulate(in);
  SparseOutcome<T> outcome;
  const Sparse<T> selected = top_k(entries_of(accs[0]), k);
  outcome.delivered = selected.size();
  outcome.selected = {selected.size()};
  outcome.result = finish(selected, Op::kSum, 1);
  if (residual.empty()) return outcome;
  outcome.residuals = accs;
  for (const Entry<T>& entry : selected) outcome.residuals[0][entry.index] = T{0};
  canonicalise(outcome.residuals);
  return outcome;
}

template <class T>
std::vector<T> Oracle<T>::scatter(const Sparse<T>& in, std::size_t count) {
  std::vector<T> dense(count, T{0});
  for (const Entry<T>& entry : in) dense[entry.index] = leaving(entry.value);
  return dense;
}

template struct Oracle<float>;
template struct Oracle<double>;

}  // namespace sparsecoll::oracle
