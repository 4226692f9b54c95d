// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "oracle/reuse.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "oracle/merge_tree.hpp"

namespace sparsecoll::oracle {
namespace {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// Magnitudes as integers: the bits, every NaN just above infinity.
template <class T>
std::uint64_t magnitude(T value) {
  const std::uint64_t infinity = std::bit_cast<Bits<T>>(std::numeric_limits<T>::infinity());
  return std::isnan(value) ? infinity + 1 : std::bit_cast<Bits<T>>(std::fabs(value));
}

/// 1/64 of the integers between a power of two and the next.
template <class T>
constexpr std::uint64_t kStep = (std::uint64_t{1} << (std::numeric_limits<T>::digits - 1)) / 64;

template <class T>
void finish(Sparse<T>& sum, Op op, std::size_t P) {
  for (Entry<T>& entry : sum) {
    if (op == Op::kAvg) entry.value /= static_cast<T>(P);
    entry.value = Oracle<T>::leaving(entry.value);
  }
}

}  // namespace

template <class T>
Sparse<T> ReuseReplay<T>::pick(const Sparse<T>& x, std::uint64_t& threshold) {
  const auto k = static_cast<long double>(k_);
  if (calls_ % interval_ != 0 && threshold != 0) {
    Sparse<T> reaching;
    for (const Entry<T>& entry : x) {
      if (magnitude(entry.value) >= threshold) reaching.push_back(entry);
    }
    const auto found = static_cast<long double>(reaching.size());
    if (found >= k / 4 && found <= 4 * k) {
      const std::uint64_t most = magnitude(std::numeric_limits<T>::quiet_NaN());
      if (found * 3 > k * 4) threshold = std::min(threshold + kStep<T>, most);
      if (found * 3 < k * 2) threshold = threshold > kStep<T> ? threshold - kStep<T> : 1;
      ++reused_;
      return reaching;
    }
  }
  if (calls_ % interval_ != 0) ++fell_back_;
  const Sparse<T> exact = Oracle<T>::top_k(x, k_);
  threshold = 0;
  for (const Entry<T>& entry : exact) {
    const std::uint64_t own = magnitude(entry.value);
    threshold = threshold == 0 ? own : std::min(threshold, own);
  }
  return exact;
}

template <class T>
DenseOutcome<T> ReuseReplay<T>::sparse_allreduce(const DenseInputs<T>& in, Op op) {
  const std::size_t P = in.sends.size();
  DenseOutcome<T> outcome;
  PerRank<Sparse<T>> selected;
  PerRank<std::vector<T>> accs = in.sends;
  for (std::size_t r = 0; r < P; ++r) {
    for (std::size_t i = 0; i < accs[r].size() && !in.residuals.empty(); ++i) {
      accs[r][i] += in.residuals[r][i];
    }
    selected.push_back(pick(Oracle<T>::entries_of(accs[r]), own_[r]));
    outcome.selected.push_back(selected[r].size());
  }
  Sparse<T> result = pick(Oracle<T>::sum_in_order(selected), global_);
  ++calls_;
  for (std::size_t r = 0; r < in.residuals.size(); ++r) {
    for (const Entry<T>& entry : selected[r]) {
      if (contains(result, entry.index)) accs[r][entry.index] = T{0};
    }
    for (T& value : accs[r]) value = Oracle<T>::canonical(value);
    outcome.residuals.push_back(accs[r]);
  }
  finish(result, op, P);
  outcome.delivered = result.size();
  outcome.result = Oracle<T>::scatter(result, in.sends[0].size());
  return outcome;
}

template <class T>
SparseOutcome<T> ReuseReplay<T>::sparse_allreducev(const SparseInputs<T>& in, Op op) {
  SparseOutcome<T> outcome;
  outcome.result = pick(Oracle<T>::sum_in_order(in.sends), global_);
  ++calls_;
  outcome.residuals = in.residuals;
  for (std::size_t r = 0; r < in.residuals.size(); ++r) {
    for (const Entry<T>& entry : in.sends[r]) {
      if (!contains(outcome.result, entry.index)) outcome.residuals[r][entry.index] += entry.value;
    }
    for (T& value : outcome.residuals[r]) value = Oracle<T>::canonical(value);
  }
  for (const Sparse<T>& send : in.sends) outcome.selected.push_back(send.size());
  outcome.delivered = outcome.result.size();
  finish(outcome.result, op, in.sends.size());
  return outcome;
}

template class ReuseReplay<float>;
template class ReuseReplay<double>;

}  // namespace sparsecoll::oracle
