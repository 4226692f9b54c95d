// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "oracle/exchange.hpp"

#include <algorithm>
#include <type_traits>

#include "oracle/parts.hpp"

namespace sparsecoll::oracle {
namespace {

__extension__ typedef unsigned __int128 Product;

std::uint64_t part(std::uint64_t whole, std::size_t r, std::size_t P) {
  return static_cast<std::uint64_t>(static_cast<Product>(whole) * r / P);
}

template <class T>
Sparse<T> in_range(const Sparse<T>& x, std::uint64_t begin, std::uint64_t end) {
  Sparse<T> inside;
  for (const Entry<T>& entry : x) {
    if (entry.index >= begin && entry.index < end) inside.push_back(entry);
  }
  return inside;
}

/// Splits acc into the part that is sent, rounded to T, and the part that stays.
template <class T>
struct Selections {
  PerRank<Sparse<Wide<T>>> shipped;
  PerRank<std::vector<Wide<T>>> residuals;
  PerRank<std::size_t> sizes;
};

template <class T, class Select>
Selections<T> select_all(const DenseInputs<T>& in, Select select_from) {
  Selections<T> all;
  for (std::vector<Wide<T>>& acc : accumulate(in)) {
    Sparse<Wide<T>> shipped = select_from(Oracle<T>::entries_of(acc));
    for (Entry<Wide<T>>& entry : shipped) {
      entry.value = Oracle<T>::leaving(entry.value);
      acc[entry.index] = left_behind(acc[entry.index], entry.value);
    }
    all.sizes.push_back(shipped.size());
    all.shipped.push_back(shipped);
    if (!in.residuals.empty()) all.residuals.push_back(acc);
  }
  canonicalise(all.residuals);
  return all;
}

template <class T>
Sparse<T> finished_sum(const PerRank<Sparse<Wide<T>>>& shipped, Op op) {
  return finish<T>(Oracle<T>::sum_in_order(shipped), op, shipped.size());
}

/// Returns the value with canonical NaNs.
template <class T>
T handed_over(T value) {
  if constexpr (std::is_integral_v<T>) return value;
  if constexpr (!std::is_integral_v<T>) return T(Arithmetic<Wide<T>>::canonical(value));
}

}  // namespace

std::vector<std::size_t> even_bounds(std::uint64_t count, std::size_t P) {
  std::vector<std::size_t> bounds;
  for (std::size_t r = 0; r <= P; ++r) bounds.push_back(part(count, r, P));
  return bounds;
}

template <class T>
PerRank<Received<T>> alltoall(const PerRank<Sparse<T>>& sends,
                              const std::vector<std::size_t>& bounds) {
  PerRank<Received<T>> all(sends.size());
  for (std::size_t to = 0; to < sends.size(); ++to) {
    for (const Sparse<T>& send : sends) {
      const Sparse<T> own = in_range(send, bounds[to], bounds[to + 1]);
      all[to].counts.push_back(own.size());
      for (const Entry<T>& entry : own) {
        all[to].entries.push_back({entry.index, handed_over(entry.value)});
      }
    }
  }
  return all;
}

template <class T>
Outcome<PerRank<Sparse<T>>, T> ExchangeOracle<T>::reduce_scatter(
    const DenseInputs<T>& in, std::uint64_t k, Op op, const std::vector<std::size_t>& bounds) {
  const Selections<T> all = select_all(
      in, [&](const Sparse<Wide<T>>& acc) { return Oracle<T>::top_k(acc, k, in.block); });
  const Sparse<T> sum = finished_sum<T>(all.shipped, op);
  Outcome<PerRank<Sparse<T>>, T> outcome;
  for (std::size_t r = 0; r < in.sends.size(); ++r) {
    outcome.result.push_back(in_range(sum, bounds[r], bounds[r + 1]));
  }
  outcome.residuals = all.residuals;
  outcome.selected = all.sizes;
  outcome.delivered = sum.size();
  return outcome;
}

template <class T>
DenseOutcome<T> ExchangeOracle<T>::topka2a(const DenseInputs<T>& in, std::uint64_t k, Op op) {
  const std::size_t P = in.sends.size();
  const std::size_t n = in.sends[0].size();
  const std::size_t m = (n + P - 1) / P;
  const std::uint64_t kept = std::min<std::uint64_t>(k, n);
  const Selections<T> all = select_all(in, [&](const Sparse<Wide<T>>& acc) {
    Sparse<Wide<T>> selected;
    for (std::size_t j = 0; j < P; ++j) {
      const std::uint64_t quota = part(kept, j + 1, P) - part(kept, j, P);
      for (const Entry<Wide<T>>& entry :
           Oracle<T>::top_k(in_range(acc, j * m, (j + 1) * m), quota)) {
        selected.push_back(entry);
      }
    }
    return selected;
  });
  const Sparse<T> sum = finished_sum<T>(all.shipped, op);
  DenseOutcome<T> outcome;
  outcome.result = Oracle<T>::scatter(sum, n);
  outcome.residuals = all.residuals;
  outcome.selected = all.sizes;
  outcome.delivered = sum.size();
  return outcome;
}

template struct ExchangeOracle<float>;
template struct ExchangeOracle<double>;
template struct ExchangeOracle<Float16>;
template struct ExchangeOracle<Bfloat16>;

template PerRank<Received<float>> alltoall(const PerRank<Sparse<float>>&,
                                           const std::vector<std::size_t>&);
template PerRank<Received<double>> alltoall(const PerRank<Sparse<double>>&,
                                            const std::vector<std::size_t>&);
template PerRank<Received<Float16>> alltoall(const PerRank<Sparse<Float16>>&,
                                             const std::vector<std::size_t>&);
template PerRank<Received<Bfloat16>> alltoall(const PerRank<Sparse<Bfloat16>>&,
                                              const std::vector<std::size_t>&);
template PerRank<Received<std::int32_t>> alltoall(const PerRank<Sparse<std::int32_t>>&,
                                                  const std::vector<std::size_t>&);
template PerRank<Received<std::int64_t>> alltoall(const PerRank<Sparse<std::int64_t>>&,
                                                  const std::vector<std::size_t>&);

}  // namespace sparsecoll::oracle
