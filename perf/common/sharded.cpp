// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/sharded.hpp"

#include <algorithm>

namespace sparsecoll::perf {
namespace {

template <class A>
void append(Entries<A>& all, const Entries<A>& part, std::size_t offset) {
  for (std::size_t j = 0; j < part.size(); ++j) {
    all.index.push_back(offset + part.index[j]);
    all.value.push_back(part.value[j]);
  }
}

/// Returns the entries from `begin` to `end`, with indices that count from `begin`.
template <class A>
Entries<A> part_of(const Entries<A>& all, std::size_t begin, std::size_t end) {
  Entries<A> part;
  for (std::size_t j = 0; j < all.size(); ++j) {
    if (all.index[j] < begin || all.index[j] >= end) continue;
    part.index.push_back(all.index[j] - begin);
    part.value.push_back(all.value[j]);
  }
  return part;
}

}  // namespace

template <class T>
ShardedDefinition<T>::ShardedDefinition(const Task<T>& task, const Vectors<T>& vectors)
    : task_(task), vectors_(vectors) {
  const std::vector<Shard> cut = shards();
  for (int rank = 0; rank < task_.ranks; ++rank) {
    const std::vector<int> ranks = ranks_beside(rank);
    if (ranks.front() != rank) continue;  // this node is done
    const std::vector<Wide<T>> sum = sum_of_node(ranks);
    Entries<Wide<T>>& sent = sent_.emplace_back();
    for (const Shard& shard : cut) {
      const std::span<const Wide<T>> values(sum.data() + shard.begin, shard.end - shard.begin);
      Entries<Wide<T>> selected = top_k(values, shard.k);
      for (Wide<T>& value : selected.value) value = T(value);
      append(sent, selected, shard.begin);
    }
  }
  for (const Shard& shard : cut) {
    std::vector<Entries<Wide<T>>> parts;
    for (const Entries<Wide<T>>& each : sent_)
      parts.push_back(part_of(each, shard.begin, shard.end));
    append(result_, top_k(perf::sum(std::span<const Entries<Wide<T>>>(parts)), shard.k),
           shard.begin);
  }
}

template <class T>
auto ShardedDefinition<T>::shards() const -> std::vector<Shard> {
  std::size_t number = task_.nodes.size();
  for (int rank = 0; rank < task_.ranks; ++rank)
    number = std::min(number, ranks_beside(rank).size());
  const std::size_t n = task_.n, k = std::min(task_.k, n);
  std::vector<Shard> all;
  for (std::size_t s = 0; s < number; ++s)
    all.push_back({n * s / number, n * (s + 1) / number, k * (s + 1) / number - k * s / number});
  return all;
}

template <class T>
std::vector<int> ShardedDefinition<T>::ranks_beside(int rank) const {
  std::vector<int> ranks;
  for (std::size_t r = 0; r < task_.nodes.size(); ++r) {
    if (task_.nodes[r] == task_.nodes[static_cast<std::size_t>(rank)])
      ranks.push_back(static_cast<int>(r));
  }
  return ranks;
}

template <class T>
std::vector<Wide<T>> ShardedDefinition<T>::sum_of_node(const std::vector<int>& ranks) const {
  std::vector<Wide<T>> sum;
  std::vector<T> values(task_.n);
  for (const int rank : ranks) {
    vectors_.fill(rank, 0, values);
    if (sum.empty()) {
      sum.assign(values.begin(), values.end());
      continue;
    }
    for (std::size_t i = 0; i < values.size(); ++i) sum[i] += values[i];
  }
  return sum;
}

template <class T>
std::vector<Wide<T>> ShardedDefinition<T>::residual(int rank) const {
  std::vector<Wide<T>> residual(task_.n, 0);
  const std::vector<int> ranks = ranks_beside(rank);
  const auto s = static_cast<std::size_t>(std::ranges::find(ranks, rank) - ranks.begin());
  const std::vector<Shard> cut = shards();
  if (s >= cut.size()) return residual;
  const std::vector<Wide<T>> sum = sum_of_node(ranks);
  std::copy(sum.begin() + static_cast<std::ptrdiff_t>(cut[s].begin),
            sum.begin() + static_cast<std::ptrdiff_t>(cut[s].end),
            residual.begin() + static_cast<std::ptrdiff_t>(cut[s].begin));
  std::size_t node = 0;  // index of the node, by the nodes' lowest ranks
  for (int other = 0; other < ranks.front(); ++other)
    node += ranks_beside(other).front() == other ? 1 : 0;
  const Entries<Wide<T>>& sent = sent_[node];
  for (std::size_t j = 0; j < sent.size(); ++j) {
    const std::uint64_t i = sent.index[j];
    if (i < cut[s].begin || i >= cut[s].end) continue;
    residual[i] -= sent.value[j];
    if (!std::ranges::binary_search(result_.index, i)) residual[i] += sent.value[j];
  }
  return residual;
}

template class ShardedDefinition<float>;
template class ShardedDefinition<double>;
template class ShardedDefinition<Float16>;
template class ShardedDefinition<Bfloat16>;

}  // namespace sparsecoll::perf
