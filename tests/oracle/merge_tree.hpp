// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The tree of gtopkAllreduce, computed by one process.

#include <algorithm>
#include <map>

#include "oracle/oracle.hpp"

namespace sparsecoll::oracle {

template <class T>
bool index_before(const Entry<T>& a, const Entry<T>& b) {
  return a.index < b.index;
}

template <class T>
bool contains(const Sparse<T>& x, std::uint64_t index) {
  return std::binary_search(x.begin(), x.end(), Entry<T>{index, T{0}}, index_before<T>);
}

/// The result of the merge tree: rank 0's entries, and for each rank the entries that it dropped as
/// a receiver.
template <class T>
struct Tree {
  Sparse<T> result;
  PerRank<std::map<std::uint64_t, T>> dropped;
};

template <class T>
Tree<T> merge_tree(PerRank<Sparse<T>> s, std::uint64_t k, std::size_t block = 1) {
  const std::size_t P = s.size();
  Tree<T> tree;
  tree.dropped.resize(P);
  for (std::size_t step = 1; step < P; step *= 2) {
    for (std::size_t r = 0; r + step < P; r += 2 * step) {
      const Sparse<T> merged = Arithmetic<T>::sum_in_order({s[r], s[r + step]});
      s[r] = k == kAll ? merged : Arithmetic<T>::top_k(merged, k, block);
      for (const Entry<T>& entry : merged) {
        if (contains(s[r], entry.index)) continue;
        const auto [at, fresh] = tree.dropped[r].try_emplace(entry.index, entry.value);
        if (!fresh) at->second += entry.value;
      }
    }
  }
  tree.result = s[0];
  return tree;
}

template <class T>
void return_dropped(const Tree<T>& tree, PerRank<std::vector<T>>& residuals) {
  for (std::size_t r = 0; r < residuals.size(); ++r) {
    for (const auto& [index, value] : tree.dropped[r]) {
      if (contains(tree.result, index)) residuals[r][index] += value;
    }
  }
}

}  // namespace sparsecoll::oracle
