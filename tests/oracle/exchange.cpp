// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "oracle/exchange.hpp"

#include <algorithm>

namespace sparsecoll::oracle {
namespace {

__extension__ typedef unsigned __int128 Wide;

std::uint64_t part(std::uint64_t whole, std::size_t r, std::size_t P) {
  return static_cast<std::uint64_t>(static_cast<Wide>(whole) * r / P);
}

template <class T>
Sparse<T> in_range(const Sparse<T>& x, std::uint64_t begin, std::uint64_t end) {
  Sparse<T> inside;
  for (const Entry<T>& entry : x) {
    if (entry.index >= begin && entry.index < end) inside.push_back(entry);
  }
  return inside;
}

/// acc, and which entries of it are shipped; what is shipped leaves 0 behind.
template <class T>
struct Selections {
  PerRank<Sparse<T>> shipped;
  PerRank<std::vector<T>> residuals;
  PerRank<std::size_t> sizes;
};

template <class T, class Select>
Selections<T> select(const DenseInputs<T>& in, Select select_from) {
  Selections<T> all;
  for (std::size_t r = 0; r < in.sends.size(); ++r) {
    std::vector<T> acc = in.sends[r];
    for (std::size_t i = 0; i < acc.size() && !in.residuals.empty(); ++i) {
      acc[i] += in.residuals[r][i];
    }
    all.shipped.push_back(select_from(Oracle<T>::entries_of(acc)));
    all.sizes.push_back(all.shipped[r].size());
    for (const Entry<T>& entry : all.shipped[r]) acc[entry.index] = T{0};
    for (T& value : acc) value = Oracle<T>::canonical(value);
    if (!in.residuals.empty()) all.residuals.push_back(acc);
  }
  return all;
}

template <class T>
Sparse<T> finished_sum(const PerRank<Sparse<T>>& shipped, Op op) {
  Sparse<T> sum = Oracle<T>::sum_in_order(shipped);
  for (Entry<T>& entry : sum) {
    if (op == Op::kAvg) entry.value /= static_cast<T>(shipped.size());
    entry.value = Oracle<T>::leaving(entry.value);
  }
  return sum;
}

}  // namespace

std::vector<std::size_t> even_bounds(std::uint64_t count, std::size_t P) {
  std::vector<std::size_t> bounds;
  for (std::size_t r = 0; r <= P; ++r) bounds.push_back(part(count, r, P));
  return bounds;
}

template <class T>
PerRank<Received<T>> ExchangeOracle<T>::alltoall(const PerRank<Sparse<T>>& sends,
                                                 const std::vector<std::size_t>& bounds) {
  PerRank<Received<T>> all(sends.size());
  for (std::size_t to = 0; to < sends.size(); ++to) {
    for (const Sparse<T>& send : sends) {
      const Sparse<T> piece = in_range(send, bounds[to], bounds[to + 1]);
      all[to].counts.push_back(piece.size());
      for (const Entry<T>& entry : piece) {
        all[to].entries.push_back({entry.index, Oracle<T>::canonical(entry.value)});
      }
    }
  }
  return all;
}

template <class T>
Outcome<PerRank<Sparse<T>>, T> ExchangeOracle<T>::reduce_scatter(
    const DenseInputs<T>& in, std::uint64_t k, Op op, const std::vector<std::size_t>& bounds) {
  const Selections<T> all =
      select(in, [k](const Sparse<T>& acc) { return Oracle<T>::top_k(acc, k); });
  const Sparse<T> sum = finished_sum(all.shipped, op);
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
  const Selections<T> all = select(in, [&](const Sparse<T>& acc) {
    Sparse<T> selected;
    for (std::size_t j = 0; j < P; ++j) {
      const std::uint64_t quota = part(kept, j + 1, P) - part(kept, j, P);
      for (const Entry<T>& entry : Oracle<T>::top_k(in_range(acc, j * m, (j + 1) * m), quota)) {
        selected.push_back(entry);
      }
    }
    return selected;
  });
  const Sparse<T> sum = finished_sum(all.shipped, op);
  DenseOutcome<T> outcome;
  outcome.result = Oracle<T>::scatter(sum, n);
  outcome.residuals = all.residuals;
  outcome.selected = all.sizes;
  outcome.delivered = sum.size();
  return outcome;
}

template struct ExchangeOracle<float>;
template struct ExchangeOracle<double>;

}  // namespace sparsecoll::oracle
