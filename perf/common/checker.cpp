// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/checker.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "common/runner.hpp"
#include "common/sharded.hpp"

namespace sparsecoll::perf {
namespace {

template <class T>
bool same_bits(T a, T b) {
  using Word = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
  return std::bit_cast<Word>(a) == std::bit_cast<Word>(b);
}

template <class T>
std::vector<Entries<T>> gather_entries(Ranks& ranks, const Entries<T>& mine) {
  auto indices = ranks.gather(std::span<const std::uint64_t>(mine.index));
  auto values = ranks.gather(std::span<const T>(mine.value));
  std::vector<Entries<T>> all;
  for (std::size_t r = 0; r < indices.size(); ++r) {
    all.push_back({std::move(indices[r]), std::move(values[r])});
  }
  return all;
}

/// Returns the sum of the magnitudes, to which the rounding errors of the sum are proportional.
template <class T>
Entries<T> magnitudes(std::vector<Entries<T>> parts) {
  for (Entries<T>& part : parts) {
    for (T& value : part.value) value = std::abs(value);
  }
  return sum(std::span<const Entries<T>>(parts));
}

template <class T>
struct Comparison {
  Accuracy accuracy;
  Wide<T> divisor;
  int ranks;
  bool right(T got, Wide<T> total, Wide<T> scale) const {
    const T want(total / divisor);
    if (accuracy == Accuracy::kBits) return same_bits(got, want);
    constexpr double u = std::numeric_limits<Wide<T>>::epsilon() / 2;
    return std::abs(static_cast<double>(got) - static_cast<double>(want)) <=
           (ranks + 1) * u * static_cast<double>(scale) / static_cast<double>(divisor);
  }
};

}  // namespace

template <class T>
struct Checker<T>::Cache {
  std::optional<Entries<Wide<T>>> total;
  std::optional<Entries<Wide<T>>> top;
  std::optional<Entries<Wide<T>>> shards;
  std::optional<Entries<Wide<T>>> scale;
  std::optional<Tree<Wide<T>>> tree;
  std::optional<ShardedDefinition<T>> sharded;
};

template <class T>
Checker<T>::Checker(const Task<T>& task, Ranks& ranks, const Vectors<T>& vectors)
    : task_(task),
      rank_(ranks.rank()),
      vectors_(vectors),
      selections_(gather_entries(ranks, *task.entries)),
      by_shard_(task.by_shard ? gather_entries(ranks, *task.by_shard)
                              : std::vector<Entries<Wide<T>>>()),
      cache_(std::make_unique<Cache>()) {}

template <class T>
Checker<T>::~Checker() = default;

template <class T>
const Entries<Wide<T>>& Checker<T>::total() const {
  if (!cache_->total) cache_->total = sum(std::span<const Entries<Wide<T>>>(selections_));
  return *cache_->total;
}

template <class T>
const Tree<Wide<T>>& Checker<T>::tree() const {
  if (!cache_->tree) {
    cache_->tree = merge_tree(std::span<const Entries<Wide<T>>>(selections_), task_.k,
                              task_.form == Form::kSum);
  }
  return *cache_->tree;
}

template <class T>
const ShardedDefinition<T>& Checker<T>::sharded() const {
  if (!cache_->sharded) cache_->sharded.emplace(task_, vectors_);
  return *cache_->sharded;
}

template <class T>
const Entries<Wide<T>>& Checker<T>::expected(ExpectedResult kind) const {
  if (kind == ExpectedResult::kSharded) return sharded().result();
  if (kind == ExpectedResult::kMergeTree) return tree().result;
  if (kind == ExpectedResult::kSumOfShardSelections) {
    if (!cache_->shards) cache_->shards = sum(std::span<const Entries<Wide<T>>>(by_shard_));
    return *cache_->shards;
  }
  if (kind != ExpectedResult::kTopkOfSum || task_.form == Form::kSum) return total();
  if (!cache_->top) cache_->top = top_k(total(), task_.k);
  return *cache_->top;
}

template <class T>
std::size_t Checker<T>::wrong_dense(std::span<const T> result, ExpectedResult kind,
                                    Accuracy accuracy) const {
  if (kind == ExpectedResult::kSumOfVectors && task_.form == Form::kDense) {
    return wrong_sums(result, accuracy);
  }
  const Entries<Wide<T>>& want = expected(kind);
  const bool bits = accuracy == Accuracy::kBits;
  if (!bits && !cache_->scale) cache_->scale = magnitudes(selections_);
  const Comparison<T> comparison{
      accuracy, task_.average ? static_cast<Wide<T>>(task_.ranks) : Wide<T>(1), task_.ranks};
  std::size_t wrong = 0;
  std::size_t j = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const bool entry = j < want.size() && want.index[j] == i;
    const Wide<T> total = entry ? want.value[j] : Wide<T>(0);
    // Only sums of all selections are compared up to rounding. `scale` has the same indices.
    const Wide<T> scale = entry && !bits ? cache_->scale->value[j] : Wide<T>(0);
    wrong += comparison.right(result[i], total, scale) ? 0 : 1;
    j += entry ? 1 : 0;
  }
  return wrong;
}

template <class T>
std::size_t Checker<T>::wrong_sums(std::span<const T> result, Accuracy accuracy) const {
  constexpr std::size_t kBlock = std::size_t{1} << 16;
  constexpr std::size_t kLimit = std::size_t{1} << 28;  // generated values: a few seconds
  const Comparison<T> comparison{
      accuracy, task_.average ? static_cast<Wide<T>>(task_.ranks) : Wide<T>(1), task_.ranks};
  const std::size_t every = 1 + task_.n * static_cast<std::size_t>(task_.ranks) / kLimit;
  std::vector<T> block(kBlock);
  std::vector<Wide<T>> total(kBlock);
  std::vector<Wide<T>> scale(kBlock);
  std::size_t wrong = 0;
  for (std::size_t first = 0; first < task_.n; first += every * kBlock) {
    const std::size_t length = std::min(kBlock, task_.n - first);
    const std::span<T> values(block.data(), length);
    for (int r = 0; r < task_.ranks; ++r) {
      vectors_.fill(r, first, values);
      for (std::size_t j = 0; j < length; ++j) {
        const Wide<T> value = values[j];
        total[j] = r == 0 ? value : total[j] + value;
        scale[j] = r == 0 ? std::abs(value) : scale[j] + std::abs(value);
      }
    }
    for (std::size_t j = 0; j < length; ++j) {
      const Wide<T> want = total[j] == 0 ? Wide<T>(0) : total[j];  // -0 becomes +0
      wrong += comparison.right(result[first + j], want, scale[j]) ? 0 : 1;
    }
  }
  return wrong;
}

template <class T>
std::size_t Checker<T>::wrong_sparse(std::span<const std::uint32_t> index, std::span<const T> value,
                                     ExpectedResult kind) const {
  const Entries<Wide<T>>& want = expected(kind);
  const Wide<T> divisor = task_.average ? static_cast<Wide<T>>(task_.ranks) : Wide<T>(1);
  const std::size_t common = std::min(index.size(), want.size());
  std::size_t wrong = std::max(index.size(), want.size()) - common;
  for (std::size_t j = 0; j < common; ++j) {
    const bool right = index[j] == want.index[j] && same_bits(value[j], T(want.value[j] / divisor));
    wrong += right ? 0 : 1;
  }
  return wrong;
}

template <class T>
std::size_t Checker<T>::wrong_rounded(const Entries<Wide<T>>& result, ExpectedResult kind) const {
  // A value is rounded to 8 bits when it is sent to be summed, and when its sum is sent; once more
  // if the result has a 16-bit type. Each rounding is off by at most half a unit in the last place.
  // In 8 bits with a scale it is 1/32 of the value, and 1/3840 of the largest with the same scale.
  const double kOff = task_.scaled ? 2.2 / 32 : 4.0 / 512;
  std::span<const Entries<Wide<T>>> parts = selections_;
  if (kind == ExpectedResult::kSumOfShardSelections) parts = by_shard_;
  if (kind == ExpectedResult::kSharded) parts = sharded().sent();
  const Entries<Wide<T>> all = sum(parts);
  const Entries<Wide<T>> scale = magnitudes<Wide<T>>({parts.begin(), parts.end()});
  const double divisor = task_.average ? task_.ranks : 1;
  double off = 0;
  if (task_.scaled)
    for (const Wide<T> value : scale.value)
      off = std::max(off, 2 * (task_.ranks + 1) / 1952.0 * static_cast<double>(value));
  std::size_t wrong = 0, j = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    while (j < all.size() && all.index[j] < result.index[i]) ++j;
    const bool known = j < all.size() && all.index[j] == result.index[i];
    const double got = static_cast<double>(result.value[i]) * divisor;
    const double want =
        known && kind != ExpectedResult::kMergeTree ? static_cast<double>(all.value[j]) : 0;
    const double most = kind == ExpectedResult::kMergeTree ? 1 + kOff : kOff;
    const bool near =
        known && std::abs(got - want) <= most * static_cast<double>(scale.value[j]) + off;
    wrong += near ? 0 : 1;
  }
  const bool selects = kind == ExpectedResult::kTopkOfSum || kind == ExpectedResult::kMergeTree ||
                       kind == ExpectedResult::kSharded;
  if (!selects || task_.form == Form::kSum) return wrong;
  const std::size_t promised = expected(kind).size();
  // Values that are small beside their neighbours may be rounded to 0, and are then no entries.
  if (task_.scaled && result.size() <= promised) return wrong + (result.size() < promised / 2);
  return wrong + std::max(result.size(), promised) - std::min(result.size(), promised);
}

template <class T>
std::size_t Checker<T>::wrong_received(std::span<const std::uint32_t> index,
                                       std::span<const T> value) const {
  const std::size_t begin = task_.bounds[static_cast<std::size_t>(rank_)];
  const std::size_t end = task_.bounds[static_cast<std::size_t>(rank_) + 1];
  std::size_t wrong = 0, at = 0;
  for (const Entries<Wide<T>>& sent : selections_) {
    for (std::size_t j = 0; j < sent.size(); ++j) {
      if (sent.index[j] < begin || sent.index[j] >= end) continue;
      const bool right =
          at < index.size() && index[at] == sent.index[j] && same_bits(value[at], T(sent.value[j]));
      wrong += right ? 0 : 1;
      ++at;
    }
  }
  return wrong + (index.size() > at ? index.size() - at : 0);
}

template <class T>
std::size_t Checker<T>::wrong_residual(std::span<const Wide<T>> residual,
                                       ExpectedResult kind) const {
  std::vector<Wide<T>> want(task_.n, 0);  // zeros if everything was delivered
  if (kind == ExpectedResult::kSharded) {
    want = sharded().residual(rank_);
  } else if (kind != ExpectedResult::kSumOfVectors) {
    std::ranges::copy(task_.dense, want.begin());
    const Entries<Wide<T>> none;
    leave_residual(std::span<Wide<T>>(want),
                   (kind == ExpectedResult::kSumOfShardSelections
                        ? by_shard_
                        : selections_)[static_cast<std::size_t>(rank_)],
                   expected(kind),
                   kind == ExpectedResult::kMergeTree
                       ? tree().dropped[static_cast<std::size_t>(rank_)]
                       : none);
  }
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < want.size(); ++i) wrong += residual[i] == want[i] ? 0 : 1;
  return wrong;
}

template class Checker<float>;
template class Checker<double>;
template class Checker<Float16>;
template class Checker<Bfloat16>;

}  // namespace sparsecoll::perf
