// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "oracle/wire.hpp"

#include <algorithm>
#include <limits>

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
Shipment<A> ship(const Sparse<A>& x, const Rounding& rounding, const Borders& regions = {}) {
  Shipment<A> shipment{x, {}};
  shipment.lost = round_for_wire(shipment.values, rounding, regions);
  return shipment;
}

/// The multiples of 2^e that values of 8 bits stand for.
class Scale {
 public:
  /// Takes the smallest scale with which the magnitude rounds to at most 1920.
  explicit Scale(long double largest) {
    // Smaller scales need no trial: the magnitude is at least 2048 times each of them.
    if (largest > 0) e_ = std::clamp(std::ilogb(largest) - 11, kSmallest, kLargest);
    while (e_ < kLargest && nearest(std::ldexp(largest, -e_)) > 1920) ++e_;
  }
  template <class A>
  A round(A value) const {
    if (std::isnan(value)) return std::numeric_limits<A>::quiet_NaN();
    if (std::isinf(value)) return value;
    const long double places = nearest(std::ldexp(static_cast<long double>(value), -e_));
    const long double n = std::clamp(places, -1920.0L, 1920.0L);
    return n == 0 ? A{0} : static_cast<A>(std::ldexp(n, e_));
  }

 private:
  static constexpr int kSmallest = -136;
  static constexpr int kLargest = 117;

  /// Returns the nearest integer that has at most five significant bits, ties to even.
  static long double nearest(long double x) {
    const int dropped = std::fabs(x) < 32 ? 0 : std::ilogb(x) - 4;
    return std::ldexp(std::nearbyint(std::ldexp(x, -dropped)), dropped);
  }

  int e_ = kSmallest;
};

/// Rounds the entries [first, last) of x, which share a scale.
template <class A>
void round_to_int8(Sparse<A>& x, std::size_t first, std::size_t last, Sparse<A>& lost) {
  long double largest = 0;
  for (std::size_t j = first; j < last; ++j) {
    if (std::isfinite(x[j].value))
      largest = std::max(largest, std::fabs(static_cast<long double>(x[j].value)));
  }
  const Scale scale(largest);
  for (std::size_t j = first; j < last; ++j) {
    const A value = x[j].value;
    x[j].value = scale.round(value);
    lost.push_back({x[j].index, std::isfinite(value) ? value - x[j].value : A{0}});
  }
}

template <class Send, class T>
Rounding rounding_of(const Inputs<Send, T>& in, std::uint64_t values, std::uint64_t k, Wire wire) {
  return {wire, values_of_a_scale(values / in.block, k, in.block)};
}

template <class A>
void add(const Sparse<A>& x, std::vector<A>& residual) {
  for (const Entry<A>& entry : x) residual[entry.index] += entry.value;
}

/// Rounds each shard by itself, with indices that count from its start.
template <class A>
Shipment<A> ship_shards(const Sparse<A>& x, const Rounding& rounding, const Borders& shards) {
  if (shards.empty()) return ship(x, rounding);
  Shipment<A> all;
  for (std::size_t j = 0; j + 1 < shards.size(); ++j) {
    Sparse<A> shard;
    for (const Entry<A>& entry : x)
      if (owner_of(entry.index, shards) == j)
        shard.push_back({entry.index - shards[j], entry.value});
    const Shipment<A> part = ship(shard, rounding);
    for (std::size_t i = 0; i < shard.size(); ++i) {
      all.values.push_back({part.values[i].index + shards[j], part.values[i].value});
      all.lost.push_back({part.lost[i].index + shards[j], part.lost[i].value});
    }
  }
  return all;
}

/// sparseAllreducev with given owners. Without owners, sums are not rounded. Each of `shards` is
/// rounded apart before it is sent.
template <class T>
SparseOutcome<T> reduce(const SparseInputs<T>& in, std::uint64_t k, Op op, const Borders& owners,
                        const Rounding& rounding, const Borders& shards = {}) {
  using A = Wide<T>;
  SparseOutcome<T> outcome;
  outcome.residuals = in.residuals;
  PerRank<Sparse<A>> shipped;
  for (std::size_t r = 0; r < in.sends.size(); ++r) {
    const Shipment<A> own = ship_shards(widened(in.sends[r]), rounding, shards);
    shipped.push_back(own.values);
    outcome.selected.push_back(own.values.size());
    if (!in.residuals.empty()) add(own.lost, outcome.residuals[r]);
  }
  Shipment<A> sum{Oracle<T>::sum_in_order(shipped), {}};
  if (!owners.empty()) sum = ship(sum.values, rounding, owners);
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
Tree<A> rounding_tree(PerRank<Sparse<A>> s, std::uint64_t k, std::size_t block,
                      const Rounding& rounding) {
  Tree<A> tree;
  tree.dropped.resize(s.size());
  for (std::size_t step = 1; step < s.size(); step *= 2) {
    for (std::size_t r = 0; r + step < s.size(); r += 2 * step) {
      const Shipment<A> merged = ship(Arithmetic<A>::sum_in_order({s[r], s[r + step]}), rounding);
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
  selected.count = in.sends[0].size() / in.block;
  selected.block = in.block;
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

/// Returns the number of values of the vector.
template <class T>
std::uint64_t length_of(const SparseInputs<T>& in) {
  return in.residuals.empty() ? in.count * in.block : in.residuals[0].size();
}

/// Without residuals the owners do not matter in bfloat16.
template <class T>
Borders owners_of(const SparseInputs<T>& in, Sums sums, Wire wire) {
  if (sums == Sums::kStay) return {};
  if (in.residuals.empty() && wire == Wire::kBf16) return Borders(in.sends.size() + 1);
  PerRank<Sparse<T>> blocks(in.sends.size());
  for (std::size_t r = 0; r < blocks.size(); ++r)
    for (const Entry<T>& entry : in.sends[r])
      if (entry.index % in.block == 0) blocks[r].push_back({entry.index / in.block, entry.value});
  Borders borders = equal_load(blocks, length_of(in) / in.block);
  for (std::uint64_t& border : borders) border *= in.block;
  return borders;
}

}  // namespace

std::uint64_t values_of_a_scale(std::uint64_t count, std::uint64_t k, std::size_t block) {
  const std::uint64_t selected = std::max<std::uint64_t>(k, 1);
  const std::uint64_t indices = k == kAll ? 256 : (count + selected - 1) / selected;
  std::uint64_t values = 256, whole = 1;
  while (values < 256 * indices) values *= 2;
  while (2 * whole <= block) whole *= 2;
  return std::max<std::uint64_t>(values / whole, 1) * block;
}

template <class A>
Sparse<A> round_for_wire(Sparse<A>& x, const Rounding& rounding, const Borders& regions) {
  Sparse<A> lost;
  if (rounding.wire == Wire::kBf16) {
    for (Entry<A>& entry : x) {
      lost.push_back({entry.index, off_bf16_wire(entry.value)});
      entry.value = on_bf16_wire(entry.value);
    }
  }
  if (rounding.wire != Wire::kInt8) return lost;
  const auto share = [&](const Entry<A>& a, const Entry<A>& b) {
    if (a.index / rounding.width != b.index / rounding.width) return false;
    return regions.empty() || owner_of(a.index, regions) == owner_of(b.index, regions);
  };
  for (std::size_t first = 0, last = 0; first < x.size(); first = last) {
    while (last < x.size() && share(x[first], x[last])) ++last;
    round_to_int8(x, first, last, lost);
  }
  return lost;
}

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
SparseOutcome<T> WireOracle<T>::sparse_allreducev(const SparseInputs<T>& in, std::uint64_t k, Op op,
                                                  Sums sums, Wire wire) {
  return reduce(in, k, op, owners_of(in, sums, wire), rounding_of(in, length_of(in), k, wire));
}

template <class T>
SparseOutcome<T> WireOracle<T>::gtopk_allreducev(const SparseInputs<T>& in, std::uint64_t k, Op op,
                                                 Rule rule, Wire wire) {
  using A = Wide<T>;
  const Rounding rounding = rounding_of(in, length_of(in), k, wire);
  SparseOutcome<T> outcome;
  outcome.residuals = in.residuals;
  PerRank<Sparse<A>> shipped;
  for (const Sparse<T>& send : in.sends) {
    const Sparse<A> all = widened(send);
    const Shipment<A> own = ship(k == kAll ? all : Oracle<T>::top_k(all, k, in.block), rounding);
    outcome.selected.push_back(send.size());
    shipped.push_back(own.values);
    if (in.residuals.empty()) continue;
    std::vector<A>& residual = outcome.residuals[shipped.size() - 1];
    for (const Entry<A>& entry : all) {
      if (!contains(own.values, entry.index)) residual[entry.index] += entry.value;
    }
    add(own.lost, residual);
  }
  const Tree<A> tree = rounding_tree(shipped, k, in.block, rounding);
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
DenseOutcome<T> WireOracle<T>::sparse_allreduce(const DenseInputs<T>& in, std::uint64_t k, Op op,
                                                Sums sums, Wire wire) {
  const std::size_t n = in.sends[0].size();
  const SparseInputs<T> selected = topk_on_each(in, k);
  return scattered(sparse_allreducev(selected, std::min<std::uint64_t>(k, n), op, sums, wire), n);
}

template <class T>
DenseOutcome<T> WireOracle<T>::gtopk_allreduce(const DenseInputs<T>& in, std::uint64_t k, Op op,
                                               Rule rule, Wire wire) {
  const std::size_t n = in.sends[0].size();
  const std::uint64_t kept = std::min<std::uint64_t>(k, n);
  return scattered(gtopk_allreducev(topk_on_each(in, k), kept, op, rule, wire), n);
}

template <class T>
DenseOutcome<T> WireOracle<T>::topka2a(const DenseInputs<T>& in, std::uint64_t k, Op op,
                                       Wire wire) {
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
  return scattered(reduce(selected, kAll, op, shards, rounding_of(in, n, kept, wire), shards), n);
}

template <class T>
Outcome<PerRank<Sparse<T>>, T> WireOracle<T>::reduce_scatter(const DenseInputs<T>& in,
                                                             std::uint64_t k, Op op,
                                                             const Borders& bounds, Wire wire) {
  const std::size_t n = in.sends[0].size();
  const Rounding rounding = rounding_of(in, n, std::min<std::uint64_t>(k, n / in.block), wire);
  const SparseOutcome<T> whole = reduce(topk_on_each(in, k), kAll, op, {}, rounding);
  Outcome<PerRank<Sparse<T>>, T> outcome;
  outcome.result.resize(in.sends.size());
  for (const Entry<T>& entry : whole.result)
    outcome.result[owner_of(entry.index, bounds)].push_back(entry);
  outcome.residuals = whole.residuals;
  outcome.selected = whole.selected;
  outcome.delivered = whole.delivered;
  return outcome;
}

template struct WireOracle<float>;
template struct WireOracle<double>;
template struct WireOracle<Float16>;
template struct WireOracle<Bfloat16>;

template Sparse<float> round_for_wire(Sparse<float>&, const Rounding&, const Borders&);
template Sparse<double> round_for_wire(Sparse<double>&, const Rounding&, const Borders&);

template Borders equal_load(const PerRank<Sparse<float>>&, std::uint64_t);
template Borders equal_load(const PerRank<Sparse<double>>&, std::uint64_t);
template Borders equal_load(const PerRank<Sparse<Float16>>&, std::uint64_t);
template Borders equal_load(const PerRank<Sparse<Bfloat16>>&, std::uint64_t);

}  // namespace sparsecoll::oracle
