// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file The definitions of the verbs, executed serially for finite values. This code shares
/// nothing with the library.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/half.hpp"

namespace sparsecoll::perf {

/// A sparse vector. Indices increase strictly.
template <class T>
struct Entries {
  std::vector<std::uint64_t> index;
  std::vector<T> value;
  std::size_t size() const { return index.size(); }
};

/// Returns the values in the accumulation type. They are in `buffer` if T is another type.
template <class T>
std::span<const Wide<T>> widened(std::span<const T> values, std::vector<Wide<T>>& buffer) {
  if constexpr (kIsHalf<T>) {
    buffer.assign(values.begin(), values.end());
    return buffer;
  } else {
    return values;
  }
}

/// Returns the k entries of largest magnitude. The lower index wins a tie; zeros are never
/// selected.
template <class T>
Entries<T> top_k(std::span<const T> dense, std::size_t k);
template <class T>
Entries<T> top_k(const Entries<T>& entries, std::size_t k);

/// Returns TopkA2A's selection: with m = ceil(n / ranks), the
/// floor(k (j + 1) / ranks) - floor(k j / ranks) largest entries of each shard [j m, (j + 1) m).
template <class T>
Entries<T> top_k_by_shard(std::span<const T> dense, std::size_t k, std::size_t ranks);

/// Returns a + b, where a's value is the first operand. Entries that become 0 stay.
template <class T>
Entries<T> add(const Entries<T>& a, const Entries<T>& b);

/// Returns the sum of the parts, added in order. -0 becomes +0; entries that are 0 stay.
template <class T>
Entries<T> sum(std::span<const Entries<T>> parts);

/// The result of gTop-k's merge tree.
template <class T>
struct Tree {
  Entries<T> result;
  std::vector<Entries<T>> dropped;  ///< by rank: the sum of the entries that the rank dropped in
                                    ///< merges
};
/// Merges the ranks' entries in gTop-k's tree. With `everything`, no merge drops entries, and k is
/// not used.
template <class T>
Tree<T> merge_tree(std::span<const Entries<T>> parts, std::size_t k, bool everything);

/// Computes the residual after a call that started with a residual of zeros. `acc` is this rank's
/// input on entry and the residual on return, `sent` its selection, `delivered` the result, and
/// `dropped` what it dropped in the merge tree (empty for other algorithms).
template <class T>
void leave_residual(std::span<T> acc, const Entries<T>& sent, const Entries<T>& delivered,
                    const Entries<T>& dropped);

}  // namespace sparsecoll::perf
