// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace sparsecoll::perf {
namespace {

/// Returns the positions of the top-k in increasing order.
template <class T>
std::vector<std::size_t> top_k_positions(std::span<const T> x, std::size_t k) {
  std::vector<std::size_t> chosen;
  k = std::min(k, x.size());
  if (k == 0) return chosen;
  std::vector<T> magnitude(x.size());
  std::ranges::transform(x, magnitude.begin(), [](T v) { return std::abs(v); });
  std::nth_element(magnitude.begin(), magnitude.begin() + static_cast<std::ptrdiff_t>(k - 1),
                   magnitude.end(), std::greater<T>());
  const T kth = magnitude[k - 1];
  const auto above =
      static_cast<std::size_t>(std::ranges::count_if(x, [kth](T v) { return std::abs(v) > kth; }));
  std::size_t ties = k - above;  // number of entries to take that are equal to the k-th
  chosen.reserve(k);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const T m = std::abs(x[i]);
    if (m == T(0) || m < kth) continue;
    if (m == kth) {
      if (ties == 0) continue;
      --ties;
    }
    chosen.push_back(i);
  }
  return chosen;
}

template <class T>
void append(Entries<T>& entries, std::uint64_t index, T value) {
  entries.index.push_back(index);
  entries.value.push_back(value);
}

/// Returns the entries of `all` that are not in its subset `kept`.
template <class T>
Entries<T> without(const Entries<T>& all, const Entries<T>& kept) {
  Entries<T> rest;
  std::size_t j = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (j < kept.size() && kept.index[j] == all.index[i]) {
      ++j;
    } else {
      append(rest, all.index[i], all.value[i]);
    }
  }
  return rest;
}

}  // namespace

template <class T>
Entries<T> top_k(std::span<const T> dense, std::size_t k) {
  Entries<T> chosen;
  for (const std::size_t i : top_k_positions(dense, k)) append(chosen, i, dense[i]);
  return chosen;
}

template <class T>
Entries<T> top_k(const Entries<T>& entries, std::size_t k) {
  Entries<T> chosen;
  for (const std::size_t i : top_k_positions(std::span<const T>(entries.value), k)) {
    append(chosen, entries.index[i], entries.value[i]);
  }
  return chosen;
}

template <class T>
Entries<T> top_k_by_shard(std::span<const T> dense, std::size_t k, std::size_t ranks) {
  const std::size_t length = (dense.size() + ranks - 1) / ranks;
  Entries<T> all;
  for (std::size_t j = 0; j < ranks; ++j) {
    const std::size_t begin = std::min(j * length, dense.size());
    const std::size_t end = std::min(begin + length, dense.size());
    const Entries<T> one =
        top_k(dense.subspan(begin, end - begin), k * (j + 1) / ranks - k * j / ranks);
    for (std::size_t i = 0; i < one.size(); ++i) {
      all.index.push_back(begin + one.index[i]);
      all.value.push_back(one.value[i]);
    }
  }
  return all;
}

template <class T>
Entries<T> add(const Entries<T>& a, const Entries<T>& b) {
  Entries<T> both;
  both.index.reserve(a.size() + b.size());
  both.value.reserve(a.size() + b.size());
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() || j < b.size()) {
    const bool from_a = j == b.size() || (i < a.size() && a.index[i] <= b.index[j]);
    const bool from_b = i == a.size() || (j < b.size() && b.index[j] <= a.index[i]);
    const std::uint64_t index = from_a ? a.index[i] : b.index[j];
    const T value = from_a && from_b ? a.value[i] + b.value[j] : from_a ? a.value[i] : b.value[j];
    append(both, index, value);
    i += from_a ? 1 : 0;
    j += from_b ? 1 : 0;
  }
  return both;
}

template <class T>
Entries<T> sum(std::span<const Entries<T>> parts) {
  Entries<T> total;
  for (const Entries<T>& part : parts) total = add(total, part);
  for (T& value : total.value) value = value == T(0) ? T(0) : value;
  return total;
}

template <class T>
Tree<T> merge_tree(std::span<const Entries<T>> parts, std::size_t k, bool everything) {
  Tree<T> tree;
  tree.dropped.resize(parts.size());
  std::vector<Entries<T>> held;
  for (const Entries<T>& part : parts) held.push_back(everything ? part : top_k(part, k));
  for (std::size_t distance = 1; distance < held.size(); distance *= 2) {
    for (std::size_t r = 0; r + distance < held.size(); r += 2 * distance) {
      const Entries<T> both = add(held[r], held[r + distance]);
      held[r] = everything ? both : top_k(both, k);
      tree.dropped[r] = add(tree.dropped[r], without(both, held[r]));
    }
  }
  if (!held.empty()) tree.result = sum(std::span<const Entries<T>>(held).first(1));
  return tree;
}

template <class T>
void leave_residual(std::span<T> acc, const Entries<T>& sent, const Entries<T>& delivered,
                    const Entries<T>& dropped) {
  std::size_t in_sent = 0;
  std::size_t in_dropped = 0;
  for (const std::uint64_t i : delivered.index) {
    while (in_sent < sent.size() && sent.index[in_sent] < i) ++in_sent;
    while (in_dropped < dropped.size() && dropped.index[in_dropped] < i) ++in_dropped;
    if (in_sent < sent.size() && sent.index[in_sent] == i) acc[i] = T(0);
    if (in_dropped < dropped.size() && dropped.index[in_dropped] == i) {
      acc[i] += dropped.value[in_dropped];
    }
  }
}

template Entries<float> top_k(std::span<const float>, std::size_t);
template Entries<double> top_k(std::span<const double>, std::size_t);
template Entries<float> top_k(const Entries<float>&, std::size_t);
template Entries<double> top_k(const Entries<double>&, std::size_t);
template Entries<float> top_k_by_shard(std::span<const float>, std::size_t, std::size_t);
template Entries<double> top_k_by_shard(std::span<const double>, std::size_t, std::size_t);
template Entries<float> add(const Entries<float>&, const Entries<float>&);
template Entries<double> add(const Entries<double>&, const Entries<double>&);
template Entries<float> sum(std::span<const Entries<float>>);
template Entries<double> sum(std::span<const Entries<double>>);
template Tree<float> merge_tree(std::span<const Entries<float>>, std::size_t, bool);
template Tree<double> merge_tree(std::span<const Entries<double>>, std::size_t, bool);
template void leave_residual(std::span<float>, const Entries<float>&, const Entries<float>&,
                             const Entries<float>&);
template void leave_residual(std::span<double>, const Entries<double>&, const Entries<double>&,
                             const Entries<double>&);

}  // namespace sparsecoll::perf
