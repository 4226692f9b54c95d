// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "oracle/bf16_wire.hpp"

#include <algorithm>

#include "oracle/merge_tree.hpp"
#include "oracle/parts.hpp"

namespace sparsecoll::oracle {
namespace {

/// The values that a rank sends, and the part that rounding removed from each.
template <class A>
struct Shipment {
  Sparse<A> values;
  Sparse<A> lost;
};

template <class A>
Shipment<A> ship(const Sparse<A>& x) {
  Shipment<A> shipment;
  for (const Entry<A>& entry : x) {
    shipment.values.push_back({entry.index, on_bf16_wire(entry.value)});
    shipment.lost.push_back({entry.index, off_bf16_wire(entry.value)});
  }
  return shipment;
}

template <class A>
void add(const Sparse<A>& x, std::vector<A>& residual) {
  for (const Entry<A>& entry : x) residual[entry.index] += entry.value;
}

/// sparseAllreducev with given owners. Without owners, sums are not rounded.
template <class T>
SparseOutcome<T> reduce(const SparseInputs<T>& in, std::uint64_t k, Op op, const Borders& owners) {
  using A = Wide<T>;
  SparseOutcome<T> outcome;
  outcome.residuals = in.residuals;
  PerRank<Sparse<A>> shipped;
  for (std::size_t r = 0; r < in.sends.size(); ++r) {
    const Shipment<A> own = ship(widened(in.sends[r]));
    shipped.push_back(own.values);
    outcome.selected.push_back(own.values.size());
    if (!in.residuals.empty()) add(own.lost, outcome.residuals[r]);
  }
  Shipment<A> sum{Oracle<T>::sum_in_order(shipped), {}};
  if (!owners.empty()) sum = ship(sum.values);
  const Sparse<A> result = k == kAll ? sum.values : Oracle<T>::top_k(sum.values, k, in.block);
  for (std::size_t r = 0; r < in.residuals.size(); ++r) {
    for (const Entry<A>& entry : shipped[r]) {
      if (!contains(result, entry.index)) outcome.residuals[r][entry.index] += entry.value;
    }
    for (const Entry<A>& entry : sum.lost) {
      if (contains(result, entry.index) && owner_of(entry.index, owners) == r)
        outcome.residuals[r][entry.index] += entry.value;
    }
  }
  canonicalise(outcome.residuals);
  outcome.delivered = result.size();
  outcome.result = finish<T>(result, op, in.sends.size());
  return outcome;
}

/// The merge tree. Each of its sums is rounded before the selection.
template <class A>
Tree<A> rounding_tree(PerRank<Sparse<A>> s, std::uint64_t k, std::size_t block) {
  Tree<A> tree;
  tree.dropped.resize(s.size());
  for (std::size_t step = 1; step < s.size(); step *= 2) {
    for (std::size_t r = 0; r + step < s.size(); r += 2 * step) {
      const Shipment<A> merged = ship(Arithmetic<A>::sum_in_order({s[r], s[r + step]}));
      s[r] = k == kAll ? merged.values : Arithmetic<A>::top_k(merged.values, k, block);
      const auto log = [&](const Entry<A>& entry) {
        const auto [at, fresh] = tree.dropped[r].try_emplace(entry.index, entry.value);
        if (!fresh) at->second += entry.value;
      };
      for (const Entry<A>& entry : merged.lost) log(entry);
      for (const Entry<A>& entry : merged.values) {
        if (!contains(s[r], entry.index)) log(entry);
      }
    }
  }
  tree.result = s[0];
  return tree;
}

/// Returns the result of sparsecollTopk on every rank.
template <class T>
SparseInputs<T> topk_on_each(const DenseInputs<T>& in, std::uint64_t k) {
  SparseInputs<T> selected;
  for (std::size_t r = 0; r < in.sends.size(); ++r) {
    const bool feedback = !in.residuals.empty();
    const SparseOutcome<T> own = Oracle<T>::topk(
        in.sends[r], feedback ? in.residuals[r] : std::vector<Wide<T>>(), k, in.block);
    selected.sends.push_back(own.result);
    if (feedback) {
      selected.residuals.push_back(own.residuals.empty() ? in.residuals[r] : own.residuals[0]);
    }
  }
  return selected;
}

template <class T>
DenseOutcome<T> scattered(const SparseOutcome<T>& outcome, std::size_t count) {
  return {Oracle<T>::scatter(outcome.result, count), outcome.residuals, outcome.selected,
          outcome.delivered};
}

/// Without residuals the owners do not matter.
template <class T>
Borders owners_of(const SparseInputs<T>& in, Sums sums) {
  if (sums == Sums::kStay) return {};
  if (in.residuals.empty()) return Borders(in.sends.size() + 1);
  PerRank<Sparse<T>> blocks(in.sends.size());
  for (std::size_t r = 0; r < blocks.size(); ++r)
    for (const Entry<T>& entry : in.sends[r])
      if (entry.index % in.block == 0) blocks[r].push_back({entry.index / in.block, entry.value});
  Borders borders = equal_load(blocks, in.residuals[0].size() / in.block);
  for (std::uint64_t& border : borders) border *= in.block;
  return borders;
}

}  // namespace

std::size_t owner_of(std::uint64_t index, const Borders& borders) {
  std::size_t r = 0;
  while (index >= borders[r + 1]) ++r;
  return r;
}

template <class A>
Borders equal_load(const PerRank<Sparse<A>>& all, std::uint64_t count) {
  constexpr std::uint64_t kRanges = 4096;
  const std::uint64_t width =
      std::max<std::uint64_t>(count / kRanges + (count % kRanges != 0 ? 1 : 0), 1);
  std::vector<std::uint64_t> in_range(kRanges, 0);
  std::uint64_t total = 0;
  for (const Sparse<A>& each : all) {
    for (const Entry<A>& entry : each) ++in_range[entry.index / width];
    total += each.size();
  }
  const std::size_t P = all.size();
  Borders borders{0};
  for (std::size_t r = 1; r < P; ++r) {
    // At most as many entries, times P, lie in front of range b as border r needs; with range b,
    // more.
    std::uint64_t before = 0;
    std::size_t b = 0;
    while (b + 1 < kRanges && P * (before + in_range[b]) < total * r) before += in_range[b++];
    const long double inside = in_range[b] == 0 ? 0
                                                : static_cast<long double>(total * r - P * before) /
                                                      static_cast<long double>(P * in_range[b]);
    const auto part = static_cast<std::uint64_t>(inside * static_cast<long double>(width));
    borders.push_back(std::min(b * width + part, count));
  }
  borders.push_back(count);
  return borders;
}

template <class T>
SparseOutcome<T> Bf16Oracle<T>::sparse_allreducev(const SparseInputs<T>& in, std::uint64_t k, Op op,
                                                  Sums sums) {
  return reduce(in, k, op, owners_of(in, sums));
}

template <class T>
SparseOutcome<T> Bf16Oracle<T>::gtopk_allreducev(const SparseInputs<T>& in, std::uint64_t k, Op op,
                                                 Rule rule) {
  using A = Wide<T>;
  SparseOutcome<T> outcome;
  outcome.residuals = in.residuals;
  PerRank<Sparse<A>> shipped;
  for (const Sparse<T>& send : in.sends) {
    const Sparse<A> all = widened(send);
    const Shipment<A> own = ship(k == kAll ? all : Oracle<T>::top_k(all, k, in.block));
    outcome.selected.push_back(send.size());
    shipped.push_back(own.values);
    if (in.residuals.empty()) continue;
    std::vector<A>& residual = outcome.residuals[shipped.size() - 1];
    for (const Entry<A>& entry : all) {
      if (!contains(own.values, entry.index)) residual[entry.index] += entry.value;
    }
    add(own.lost, residual);
  }
  const Tree<A> tree = rounding_tree(shipped, k, in.block);
  for (std::size_t r = 0; r < in.residuals.size(); ++r) {
    for (const Entry<A>& entry : shipped[r]) {
      if (!contains(tree.result, entry.index)) outcome.residuals[r][entry.index] += entry.value;
    }
  }
  if (rule == Rule::kConserving) return_dropped(tree, outcome.residuals);
  outcome.delivered = tree.result.size();
  outcome.result = finish<T>(tree.result, op, in.sends.size());
  canonicalise(outcome.residuals);
  return outcome;
}

template <class T>
DenseOutcome<T> Bf16Oracle<T>::sparse_allreduce(const DenseInputs<T>& in, std::uint64_t k, Op op,
                                                Sums sums) {
  const std::size_t n = in.sends[0].size();
  const SparseInputs<T> selected = topk_on_each(in, k);
  return scattered(sparse_allreducev(selected, std::min<std::uint64_t>(k, n), op, sums), n);
}

template <class T>
DenseOutcome<T> Bf16Oracle<T>::gtopk_allreduce(const DenseInputs<T>& in, std::uint64_t k, Op op,
                                               Rule rule) {
  const std::size_t n = in.sends[0].size();
  return scattered(gtopk_allreducev(topk_on_each(in, k), std::min<std::uint64_t>(k, n), op, rule),
                   n);
}

template <class T>
DenseOutcome<T> Bf16Oracle<T>::topka2a(const DenseInputs<T>& in, std::uint64_t k, Op op) {
  const std::size_t P = in.sends.size(), n = in.sends[0].size(), m = (n + P - 1) / P;
  const std::uint64_t kept = std::min<std::uint64_t>(k, n);
  Borders shards;
  for (std::size_t j = 0; j <= P; ++j) shards.push_back(std::min(j * m, n));
  SparseInputs<T> selected;
  selected.sends.resize(P);
  selected.residuals.resize(in.residuals.size());
  for (std::size_t j = 0; j < P; ++j) {
    DenseInputs<T> shard;
    const auto cut = [&](const auto& whole) {
      return std::decay_t<decltype(whole)>(
          whole.begin() + static_cast<std::ptrdiff_t>(shards[j]),
          whole.begin() + static_cast<std::ptrdiff_t>(shards[j + 1]));
    };
    for (const auto& send : in.sends) shard.sends.push_back(cut(send));
    for (const auto& residual : in.residuals) shard.residuals.push_back(cut(residual));
    const SparseInputs<T> part = topk_on_each(shard, kept * (j + 1) / P - kept * j / P);
    for (std::size_t r = 0; r < P; ++r) {
      for (const Entry<T>& entry : part.sends[r])
        selected.sends[r].push_back({shards[j] + entry.index, entry.value});
      if (in.residuals.empty()) continue;
      selected.residuals[r].insert(selected.residuals[r].end(), part.residuals[r].begin(),
                                   part.residuals[r].end());
    }
  }
  return scattered(reduce(selected, kAll, op, shards), n);
}

template <class T>
Outcome<PerRank<Sparse<T>>, T> Bf16Oracle<T>::reduce_scatter(const DenseInputs<T>& in,
                                                             std::uint64_t k, Op op,
                                                             const Borders& bounds) {
  const SparseOutcome<T> whole = reduce(topk_on_each(in, k), kAll, op, {});
  Outcome<PerRank<Sparse<T>>, T> outcome;
  outcome.result.resize(in.sends.size());
  for (const Entry<T>& entry : whole.result)
    outcome.result[owner_of(entry.index, bounds)].push_back(entry);
  outcome.residuals = whole.residuals;
  outcome.selected = whole.selected;
  outcome.delivered = whole.delivered;
  return outcome;
}

template struct Bf16Oracle<float>;
template struct Bf16Oracle<double>;
template struct Bf16Oracle<Float16>;
template struct Bf16Oracle<Bfloat16>;

template Borders equal_load(const PerRank<Sparse<float>>&, std::uint64_t);
template Borders equal_load(const PerRank<Sparse<double>>&, std::uint64_t);
template Borders equal_load(const PerRank<Sparse<Float16>>&, std::uint64_t);
template Borders equal_load(const PerRank<Sparse<Bfloat16>>&, std::uint64_t);

}  // namespace sparsecoll::oracle
