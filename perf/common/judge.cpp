// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/judge.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "common/contestant.hpp"

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

/// Sum of magnitudes, the scale of the rounding errors of a sum.
template <class T>
Entries<T> magnitudes(std::vector<Entries<T>> parts) {
  for (Entries<T>& part : parts) {
    for (T& value : part.value) value = std::abs(value);
  }
  return sum(std::span<const Entries<T>>(parts));
}

template <class T>
struct Rule {
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
struct Judge<T>::Memo {
  std::optional<Entries<Wide<T>>> total;
  std::optional<Entries<Wide<T>>> top;
  std::optional<Entries<Wide<T>>> shards;
  std::optional<Entries<Wide<T>>> scale;
  std::optional<Tree<Wide<T>>> tree;
};

template <class T>
Judge<T>::Judge(const Task<T>& task, Ranks& ranks, const Vectors<T>& vectors)
    : task_(task),
      rank_(ranks.rank()),
      vectors_(vectors),
      selections_(gather_entries(ranks, *task.entries)),
      by_shard_(task.by_shard ? gather_entries(ranks, *task.by_shard)
                              : std::vector<Entries<Wide<T>>>()),
      memo_(std::make_unique<Memo>()) {}

template <class T>
Judge<T>::~Judge() = default;

template <class T>
const Entries<Wide<T>>& Judge<T>::total() const {
  if (!memo_->total) memo_->total = sum(std::span<const Entries<Wide<T>>>(selections_));
  return *memo_->total;
}

template <class T>
const Tree<Wide<T>>& Judge<T>::tree() const {
  if (!memo_->tree) {
    memo_->tree = merge_tree(std::span<const Entries<Wide<T>>>(selections_), task_.k,
                             task_.form == Form::kSum);
  }
  return *memo_->tree;
}

template <class T>
const Entries<Wide<T>>& Judge<T>::expected(Promise promise) const {
  if (promise == Promise::kTree) return tree().result;
  if (promise == Promise::kShards) {
    if (!memo_->shards) memo_->shards = sum(std::span<const Entries<Wide<T>>>(by_shard_));
    return *memo_->shards;
  }
  if (promise != Promise::kTopkOfSum || task_.form == Form::kSum) return total();
  if (!memo_->top) memo_->top = top_k(total(), task_.k);
  return *memo_->top;
}

template <class T>
std::size_t Judge<T>::wrong_dense(std::span<const T> result, Promise promise,
                                  Accuracy accuracy) const {
  if (promise == Promise::kEverything && task_.form == Form::kDense) {
    return wrong_everything(result, accuracy);
  }
  const Entries<Wide<T>>& want = expected(promise);
  const bool bits = accuracy == Accuracy::kBits;
  if (!bits && !memo_->scale) memo_->scale = magnitudes(selections_);
  const Rule<T> rule{accuracy, task_.average ? static_cast<Wide<T>>(task_.ranks) : Wide<T>(1),
                     task_.ranks};
  std::size_t wrong = 0;
  std::size_t j = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const bool entry = j < want.size() && want.index[j] == i;
    const Wide<T> total = entry ? want.value[j] : Wide<T>(0);
    // Only sums of all selections are judged by rounding, and their scale has the same indices.
    const Wide<T> scale = entry && !bits ? memo_->scale->value[j] : Wide<T>(0);
    wrong += rule.right(result[i], total, scale) ? 0 : 1;
    j += entry ? 1 : 0;
  }
  return wrong;
}

template <class T>
std::size_t Judge<T>::wrong_everything(std::span<const T> result, Accuracy accuracy) const {
  constexpr std::size_t kBlock = std::size_t{1} << 16;
  constexpr std::size_t kLimit = std::size_t{1} << 28;  // values drawn, a few seconds' work
  const Rule<T> rule{accuracy, task_.average ? static_cast<Wide<T>>(task_.ranks) : Wide<T>(1),
                     task_.ranks};
  const std::size_t every = 1 + task_.n * static_cast<std::size_t>(task_.ranks) / kLimit;
  std::vector<T> piece(kBlock);
  std::vector<Wide<T>> total(kBlock);
  std::vector<Wide<T>> scale(kBlock);
  std::size_t wrong = 0;
  for (std::size_t first = 0; first < task_.n; first += every * kBlock) {
    const std::size_t length = std::min(kBlock, task_.n - first);
    const std::span<T> values(piece.data(), length);
    for (int r = 0; r < task_.ranks; ++r) {
      vectors_.fill(r, first, values);
      for (std::size_t j = 0; j < length; ++j) {
        const Wide<T> value = values[j];
        total[j] = r == 0 ? value : total[j] + value;
        scale[j] = r == 0 ? std::abs(value) : scale[j] + std::abs(value);
      }
    }
    for (std::size_t j = 0; j < length; ++j) {
      const Wide<T> want = total[j] == 0 ? Wide<T>(0) : total[j];  // -0 comes out as +0
      wrong += rule.right(result[first + j], want, scale[j]) ? 0 : 1;
    }
  }
  return wrong;
}

template <class T>
std::size_t Judge<T>::wrong_sparse(std::span<const std::uint32_t> index, std::span<const T> value,
                                   Promise promise) const {
  const Entries<Wide<T>>& want = expected(promise);
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
std::size_t Judge<T>::wrong_rounded(const Entries<Wide<T>>& result, Promise promise) const {
  // Once on the way to the sum and once from there, by half a last place of 8 bits each; and once
  // more where the result is of a 16-bit type.
  constexpr double kOff = 4.0 / 512;
  const std::vector<Entries<Wide<T>>>& parts =
      promise == Promise::kShards ? by_shard_ : selections_;
  const Entries<Wide<T>> all = sum(std::span<const Entries<Wide<T>>>(parts));
  const Entries<Wide<T>> scale = magnitudes(parts);
  const double divisor = task_.average ? task_.ranks : 1;
  std::size_t wrong = 0, j = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    while (j < all.size() && all.index[j] < result.index[i]) ++j;
    const bool known = j < all.size() && all.index[j] == result.index[i];
    const double got = static_cast<double>(result.value[i]) * divisor;
    const double want = known && promise != Promise::kTree ? static_cast<double>(all.value[j]) : 0;
    const double most = promise == Promise::kTree ? 1 + kOff : kOff;
    const bool near = known && std::abs(got - want) <= most * static_cast<double>(scale.value[j]);
    wrong += near ? 0 : 1;
  }
  const bool selects = promise == Promise::kTopkOfSum || promise == Promise::kTree;
  if (!selects || task_.form == Form::kSum) return wrong;
  const std::size_t promised = expected(promise).size();
  return wrong + std::max(result.size(), promised) - std::min(result.size(), promised);
}

template <class T>
std::size_t Judge<T>::wrong_arrived(std::span<const std::uint32_t> index,
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
std::size_t Judge<T>::wrong_residual(std::span<const Wide<T>> residual, Promise promise) const {
  std::vector<Wide<T>> want(task_.n, 0);  // what stays when everything is delivered
  if (promise != Promise::kEverything) {
    std::ranges::copy(task_.dense, want.begin());
    const Entries<Wide<T>> none;
    leave_residual(
        std::span<Wide<T>>(want),
        (promise == Promise::kShards ? by_shard_ : selections_)[static_cast<std::size_t>(rank_)],
        expected(promise),
        promise == Promise::kTree ? tree().dropped[static_cast<std::size_t>(rank_)] : none);
  }
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < want.size(); ++i) wrong += residual[i] == want[i] ? 0 : 1;
  return wrong;
}

template class Judge<float>;
template class Judge<double>;
template class Judge<Float16>;
template class Judge<Bfloat16>;

}  // namespace sparsecoll::perf
