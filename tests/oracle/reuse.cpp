// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "oracle/reuse.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "oracle/merge_tree.hpp"
#include "oracle/parts.hpp"
#include "oracle/wire.hpp"

namespace sparsecoll::oracle {
namespace {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// Returns magnitudes as integers: the bits, with every NaN just above infinity.
template <class T>
std::uint64_t magnitude(T value) {
  const std::uint64_t infinity = std::bit_cast<Bits<T>>(std::numeric_limits<T>::infinity());
  return std::isnan(value) ? infinity + 1 : std::bit_cast<Bits<T>>(std::fabs(value));
}

/// 1/64 of the integers between two powers of two.
template <class T>
constexpr std::uint64_t kStep = (std::uint64_t{1} << (std::numeric_limits<T>::digits - 1)) / 64;

template <class T>
Sparse<Wide<T>> shipped(Sparse<Wide<T>> selected) {
  for (Entry<Wide<T>>& entry : selected) entry.value = Oracle<T>::leaving(entry.value);
  return selected;
}

}  // namespace

template <class T>
Sparse<Wide<T>> ReuseReplay<T>::pick(const Sparse<Wide<T>>& x, std::uint64_t& threshold,
                                     bool rounded) {
  const auto k = static_cast<long double>(k_);
  if (calls_ % interval_ != 0 && threshold != 0) {
    Sparse<Wide<T>> reaching;
    for (const Entry<Wide<T>>& entry : x) {
      if (magnitude(entry.value) >= threshold) reaching.push_back(entry);
    }
    const auto found = static_cast<long double>(reaching.size());
    if (found >= k / 4 && found <= 4 * k) {
      const std::uint64_t most = magnitude(std::numeric_limits<Wide<T>>::quiet_NaN());
      if (found * 3 > k * 4) threshold = std::min(threshold + kStep<Wide<T>>, most);
      if (found * 3 < k * 2)
        threshold = threshold > kStep<Wide<T>> ? threshold - kStep<Wide<T>> : 1;
      ++reused_;
      return rounded ? shipped<T>(reaching) : reaching;
    }
  }
  if (calls_ % interval_ != 0) ++fell_back_;
  Sparse<Wide<T>> exact = Oracle<T>::top_k(x, k_);
  if (rounded) exact = shipped<T>(exact);
  threshold = 0;
  for (const Entry<Wide<T>>& entry : exact) {
    const std::uint64_t own = magnitude(entry.value);
    threshold = threshold == 0 ? own : std::min(threshold, own);
  }
  return exact;
}

template <class T>
Sparse<Wide<T>> ReuseReplay<T>::reduce(PerRank<Sparse<Wide<T>>> sends,
                                       PerRank<std::vector<Wide<T>>>& residuals, std::uint64_t n) {
  const Rounding rounding{wire_, values_of_a_scale(n, std::min(k_, n), 1)};
  const Borders owners = wire_ == Wire::kNative ? Borders{} : equal_load(sends, n);
  PerRank<Sparse<Wide<T>>> lost(sends.size());
  for (std::size_t r = 0; r < sends.size(); ++r) lost[r] = round_for_wire(sends[r], rounding);
  Sparse<Wide<T>> sum = Oracle<T>::sum_in_order(sends);
  const Sparse<Wide<T>> lost_sum = round_for_wire(sum, rounding, owners);
  const Sparse<Wide<T>> result = pick(sum, global_, false);
  ++calls_;
  if (residuals.empty()) return result;
  for (std::size_t r = 0; r < residuals.size(); ++r) {
    for (const Entry<Wide<T>>& entry : lost[r]) residuals[r][entry.index] += entry.value;
    for (const Entry<Wide<T>>& entry : sends[r]) {
      if (!contains(result, entry.index)) residuals[r][entry.index] += entry.value;
    }
    for (const Entry<Wide<T>>& entry : lost_sum) {
      if (contains(result, entry.index) && owner_of(entry.index, owners) == r)
        residuals[r][entry.index] += entry.value;
    }
  }
  canonicalise(residuals);
  return result;
}

template <class T>
DenseOutcome<T> ReuseReplay<T>::sparse_allreduce(const DenseInputs<T>& in, Op op) {
  const std::size_t P = in.sends.size();
  DenseOutcome<T> outcome;
  PerRank<Sparse<Wide<T>>> selected;
  PerRank<std::vector<Wide<T>>> accs = accumulate(in);
  for (std::size_t r = 0; r < P; ++r) {
    selected.push_back(pick(Oracle<T>::entries_of(accs[r]), own_[r], true));
    outcome.selected.push_back(selected[r].size());
    for (const Entry<Wide<T>>& entry : selected[r]) {
      Wide<T>& residual = accs[r][entry.index];
      residual = left_behind(residual, entry.value);
    }
    if (!in.residuals.empty()) outcome.residuals.push_back(accs[r]);
  }
  const Sparse<Wide<T>> result = reduce(selected, outcome.residuals, in.sends[0].size());
  outcome.delivered = result.size();
  outcome.result = Oracle<T>::scatter(finish<T>(result, op, P), in.sends[0].size());
  return outcome;
}

template <class T>
SparseOutcome<T> ReuseReplay<T>::sparse_allreducev(const SparseInputs<T>& in, Op op) {
  SparseOutcome<T> outcome;
  PerRank<Sparse<Wide<T>>> sends;
  for (const Sparse<T>& send : in.sends) sends.push_back(widened(send));
  outcome.residuals = in.residuals;
  const std::uint64_t n = in.residuals.empty() ? in.count : in.residuals[0].size();
  const Sparse<Wide<T>> result = reduce(sends, outcome.residuals, n);
  for (const Sparse<T>& send : in.sends) outcome.selected.push_back(send.size());
  outcome.delivered = result.size();
  outcome.result = finish<T>(result, op, in.sends.size());
  return outcome;
}

template class ReuseReplay<float>;
template class ReuseReplay<double>;
template class ReuseReplay<Float16>;
template class ReuseReplay<Bfloat16>;

}  // namespace sparsecoll::oracle
