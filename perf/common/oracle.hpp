// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file The verbs' definitions, executed serially and plainly for finite values. Shares nothing
/// with the library.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/half.hpp"

namespace sparsecoll::perf {

/// A sparse vector; indices strictly increase.
template <class T>
struct Entries {
  std::vector<std::uint64_t> index;
  std::vector<T> value;
  std::size_t size() const { return index.size(); }
};

/// The values in the accumulation type, in which all of this is done; `room` is for those that are
/// not in it.
template <class T>
std::span<const Wide<T>> widened(std::span<const T> values, std::vector<Wide<T>>& buffer) {
  if constexpr (kIsHalf<T>) {
    buffer.assign(values.begin(), values.end());
    return buffer;
  } else {
    return values;
  }
}

/// The k entries of largest magnitude; ties go to the lowest index; zeros are never selected.
template <class T>
Entries<T> top_k(std::span<const T> dense, std::size_t k);
template <class T>
Entries<T> top_k(const Entries<T>& entries, std::size_t k);

/// TopkA2A's selection: with m = ceil(n / ranks), the floor(k (j + 1) / ranks) - floor(k j / ranks)
/// largest entries of each shard [j m, (j + 1) m).
template <class T>
Entries<T> top_k_by_shard(std::span<const T> dense, std::size_t k, std::size_t ranks);

/// a + b, a's value first; zeros that arise stay.
template <class T>
Entries<T> add(const Entries<T>& a, const Entries<T>& b);

/// The parts added in order, -0 turned into +0; explicit zeros stay.
template <class T>
Entries<T> sum(std::span<const Entries<T>> parts);

/// gTop-k's tree over the ranks' entries.
template <class T>
struct Tree {
  Entries<T> result;
  std::vector<Entries<T>> dropped;  ///< per rank: what it dropped as the receiver of merges, added
};
/// With `everything`, nothing is dropped at any merge and k is not used.
template <class T>
Tree<T> merge_tree(std::span<const Entries<T>> parts, std::size_t k, bool everything);

/// The residual after a call that started from a residual of zeros. `acc` is this rank's input on
/// entry and the residual on return; `sent` its selection, `delivered` the result, `dropped` what
/// it dropped as a receiver in the tree (empty elsewhere).
template <class T>
void leave_residual(std::span<T> acc, const Entries<T>& sent, const Entries<T>& delivered,
                    const Entries<T>& dropped);

}  // namespace sparsecoll::perf
