// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "oracle/sharded.hpp"

#include <algorithm>

#include "oracle/merge_tree.hpp"
#include "oracle/parts.hpp"
#include "oracle/wire.hpp"

namespace sparsecoll::oracle {
namespace {

/// The ranks of each node, nodes in the order of their lowest ranks.
std::vector<std::vector<std::size_t>> ranks_by_node(const PerRank<int>& node, std::size_t P) {
  std::vector<std::vector<std::size_t>> ranks;
  std::vector<int> numbers;
  for (std::size_t r = 0; r < P; ++r) {
    const int number = node.empty() ? 0 : node[r];
    const auto found = std::find(numbers.begin(), numbers.end(), number);
    const auto v = static_cast<std::size_t>(found - numbers.begin());
    if (found == numbers.end()) {
      numbers.push_back(number);
      ranks.emplace_back();
    }
    ranks[v].push_back(r);
  }
  return ranks;
}

/// One shard: the indices [begin, end), and the owners' state. Indices count from `begin`.
template <class A>
struct Shard {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t k = 0;
  PerRank<std::size_t> owners;     ///< by node, like the two below
  PerRank<Sparse<A>> sent;         ///< L
  PerRank<std::vector<A>> stayed;  ///< acc less L, and what rounding L for the wire removed
};

template <class T>
Rounding rounding_of(const DenseInputs<T>& in, const ShardedCall& call) {
  const std::uint64_t n = in.sends[0].size();
  return {call.wire, values_of_a_scale(n, std::min<std::uint64_t>(call.k, n), 1)};
}

/// Adds up the nodes' gradients and residuals, and selects.
template <class T>
Shard<Wide<T>> select_shard(const DenseInputs<T>& in, const ShardedCall& call,
                            const std::vector<std::vector<std::size_t>>& nodes, std::size_t s) {
  using A = Wide<T>;
  std::size_t S = in.sends.size();
  for (const auto& ranks : nodes) S = std::min(S, ranks.size());
  const std::uint64_t n = in.sends[0].size(), k = std::min<std::uint64_t>(call.k, n);
  Shard<A> shard{n * s / S, n * (s + 1) / S, k * (s + 1) / S - k * s / S, {}, {}, {}};
  for (const auto& ranks : nodes) {
    std::vector<A> acc;
    for (std::uint64_t i = shard.begin; i < shard.end; ++i) {
      A sum = in.sends[ranks[0]][i];
      for (std::size_t j = 1; j < ranks.size(); ++j) sum += static_cast<A>(in.sends[ranks[j]][i]);
      if (!in.residuals.empty()) sum += in.residuals[ranks[s]][i];
      acc.push_back(sum);
    }
    Sparse<A> sent = select<T>(acc, shard.k);
    for (const Entry<A>& entry : sent)
      acc[entry.index] = left_behind(acc[entry.index], entry.value);
    for (const Entry<A>& lost : round_for_wire(sent, rounding_of(in, call)))
      acc[lost.index] += lost.value;
    shard.owners.push_back(ranks[s]);
    shard.sent.push_back(sent);
    shard.stayed.push_back(acc);
  }
  return shard;
}

template <class T>
std::vector<Shard<Wide<T>>> select_shards(const DenseInputs<T>& in, const ShardedCall& call) {
  const auto nodes = ranks_by_node(call.nodes, in.sends.size());
  std::size_t S = in.sends.size();
  for (const auto& ranks : nodes) S = std::min(S, ranks.size());
  std::vector<Shard<Wide<T>>> shards;
  for (std::size_t s = 0; s < S; ++s) shards.push_back(select_shard<T>(in, call, nodes, s));
  return shards;
}

/// Writes what the owners of a shard keep to the residuals of n values.
template <class A, class Result, class T>
void keep(const Shard<A>& shard, Outcome<Result, T>& outcome) {
  for (std::size_t v = 0; v < shard.owners.size(); ++v) {
    outcome.selected[shard.owners[v]] = shard.sent[v].size();
    if (outcome.residuals.empty()) continue;
    std::copy(
        shard.stayed[v].begin(), shard.stayed[v].end(),
        outcome.residuals[shard.owners[v]].begin() + static_cast<std::ptrdiff_t>(shard.begin));
  }
}

template <class Result, class T>
Outcome<Result, T> empty_outcome(const DenseInputs<T>& in) {
  Outcome<Result, T> outcome;
  outcome.selected.assign(in.sends.size(), 0);
  if (!in.residuals.empty())
    outcome.residuals.assign(in.sends.size(), std::vector<Wide<T>>(in.sends[0].size(), 0));
  return outcome;
}

}  // namespace

PerRank<ShardBounds> shards_of(std::uint64_t n, std::size_t P, const PerRank<int>& nodes) {
  const auto by_node = ranks_by_node(nodes, P);
  std::size_t S = P;
  for (const auto& ranks : by_node) S = std::min(S, ranks.size());
  PerRank<ShardBounds> shards(P);
  for (const auto& ranks : by_node) {
    for (std::size_t s = 0; s < S; ++s) shards[ranks[s]] = {n * s / S, n * (s + 1) / S};
  }
  return shards;
}

template <class T>
DenseOutcome<T> ShardedOracle<T>::sparse_allreduce(const DenseInputs<T>& in,
                                                   const ShardedCall& call) {
  using A = Wide<T>;
  auto outcome = empty_outcome<std::vector<T>, T>(in);
  Sparse<A> whole;
  for (Shard<A>& shard : select_shards<T>(in, call)) {
    const Borders borders = equal_load(shard.sent, shard.end - shard.begin);
    Sparse<A> sum = Arithmetic<A>::sum_in_order(shard.sent);
    const Sparse<A> lost = round_for_wire(sum, rounding_of(in, call), borders);
    const Sparse<A> result = Arithmetic<A>::top_k(sum, shard.k);
    for (std::size_t v = 0; v < shard.owners.size(); ++v) {
      for (const Entry<A>& entry : shard.sent[v]) {
        if (!contains(result, entry.index)) shard.stayed[v][entry.index] += entry.value;
      }
      for (const Entry<A>& entry : lost) {
        if (contains(result, entry.index) && owner_of(entry.index, borders) == v)
          shard.stayed[v][entry.index] += entry.value;
      }
    }
    for (const Entry<A>& entry : result) whole.push_back({shard.begin + entry.index, entry.value});
    keep(shard, outcome);
  }
  outcome.delivered = whole.size();
  outcome.result =
      Oracle<T>::scatter(finish<T>(whole, call.op, in.sends.size()), in.sends[0].size());
  canonicalise(outcome.residuals);
  return outcome;
}

template <class T>
Outcome<PerRank<Sparse<T>>, T> ShardedOracle<T>::reduce_scatter(
    const DenseInputs<T>& in, const ShardedCall& call, const PerRank<std::uint64_t>& bounds) {
  using A = Wide<T>;
  auto outcome = empty_outcome<PerRank<Sparse<T>>, T>(in);
  outcome.result.resize(in.sends.size());
  for (const Shard<A>& shard : select_shards<T>(in, call)) {
    const Sparse<A> sum = Arithmetic<A>::sum_in_order(shard.sent);
    for (const Entry<T>& entry : finish<T>(sum, call.op, in.sends.size())) {
      const std::uint64_t index = shard.begin + entry.index;
      outcome.result[owner_of(index, bounds)].push_back({index, entry.value});
    }
    outcome.delivered += sum.size();
    keep(shard, outcome);
  }
  canonicalise(outcome.residuals);
  return outcome;
}

template struct ShardedOracle<float>;
template struct ShardedOracle<double>;
template struct ShardedOracle<Float16>;
template struct ShardedOracle<Bfloat16>;

}  // namespace sparsecoll::oracle
