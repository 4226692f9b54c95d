// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <type_traits>

#include "core/memory.hpp"
#include "kernels/host/filter.hpp"
#include "kernels/host/sparse_simd.hpp"
#include "kernels/host/view.hpp"
#include "kernels/kernels.hpp"

namespace sparsecoll::host {

/// Searches a sorted sparse vector. Callers ask contains() for rising indices.
template <class T, class I>
class Cursor {
 public:
  explicit Cursor(const View<T, I>& view) : view_(view) {}
  bool contains(uint64_t index) {
    while (next_ < view_.nnz && view_.at(next_) < index) ++next_;
    return next_ < view_.nnz && view_.at(next_) == index;
  }

 private:
  View<T, I> view_;
  size_t next_ = 0;
};

/// Adds entry j of a vector to the residual.
template <class T, class I>
void add_entry(const View<T, I>& in, size_t j, size_t block_size, T* residual) {
  T* const to = residual + in.at(j) * block_size;
  for (size_t i = 0; i < block_size; ++i) to[i] += in.value[j * block_size + i];
}

/// `block_size` is a size_t or, so that the compiler knows it, an integral_constant.
template <class T, class I>
void put_back(const Feedback& feedback, auto block_size, T* residual) {
  constexpr size_t kAhead = 32;  // this many waits for memory overlap
  const View<T, I> sent(feedback.sent), delivered(feedback.delivered), dropped(feedback.dropped);
  Cursor<T, I> in_result(delivered);
  std::array<size_t, kAhead> prefetched;
  size_t n = 0;
  for (size_t j = 0; j < sent.nnz; ++j) {
    if (in_result.contains(sent.at(j))) continue;
    __builtin_prefetch(residual + sent.at(j) * block_size, 1);
    size_t& place = prefetched[n % kAhead];
    if (n >= kAhead) add_entry(sent, place, block_size, residual);
    place = j;
    ++n;
  }
  for (size_t i = n - std::min(n, kAhead); i < n; ++i)
    add_entry(sent, prefetched[i % kAhead], block_size, residual);
  switch (feedback.rule) {
    case ResidualRule::paper:
      return;  // under the paper's rule, dropped parts of delivered entries are lost
    case ResidualRule::conserving: {
      Cursor<T, I> in_result(delivered);
      for (size_t j = 0; j < dropped.nnz; ++j)
        if (in_result.contains(dropped.at(j))) add_entry(dropped, j, block_size, residual);
      return;
    }
  }
}

template <class T>
void keep_cancelled(const T* acc, const T* sum, size_t count, T* residual) {
  for (size_t i = 0; i < count; ++i) {
    const bool stays = (sum[i] == 0) | (acc[i] == 0);  // zeros may be -0
    residual[i] = stays ? acc[i] : T{0};
  }
}

template <class T, class I>
void deliver(const View<Accumulation<T>, I>& in, size_t block_size, int divisor,
             const SparseBuffer& out) {
  I* const index = static_cast<I*>(out.index);
  T* const value = static_cast<T*>(out.value);
  if (in.index)
    std::copy_n(in.index, in.nnz, index);
  else
    std::iota(index, index + in.nnz, I{0});
  const size_t values = in.nnz * block_size;
  for (size_t j = 0; j < values; ++j) value[j] = result_value<T>(in.value[j], divisor);
  *out.nnz = in.nnz;
}

/// Writes values as results have them: of type T, NaNs canonical, all other bits as they are.
template <class T>
void copy_values(const Accumulation<T>* from, size_t n, T* to,
                 [[maybe_unused]] const SparseLoops* loops) {
  if constexpr (std::is_same_v<T, float>)
    if (loops) return loops->canonical_f32(from, n, to);
  if constexpr (std::is_same_v<T, double>)
    if (loops) return loops->canonical_f64(from, n, to);
  std::transform(from, from + n, to, [](Accumulation<T> one) { return narrow<T>(canonical(one)); });
}

template <class T, class I>
void deliver_concatenated(std::span<const SparseSpan> inputs, size_t block_size,
                          const SparseLoops* loops, const SparseBuffer& out) {
  I* index = static_cast<I*>(out.index);
  T* value = static_cast<T*>(out.value);
  *out.nnz = 0;
  for (const SparseSpan& each : inputs) {
    const View<Accumulation<T>, I> input(each);
    index = std::copy_n(input.index, input.nnz, index);
    copy_values(input.value, input.nnz * block_size, value, loops);
    value += input.nnz * block_size;
    *out.nnz += input.nnz;
  }
}

/// Writes the elements of a region of the dense vector to `dense`: the entries, and zeros
/// elsewhere. Works tile by tile, so that entries overwrite zeros that are still in the nearest
/// cache. `past_caches`: whole tiles are built in a buffer and streamed to memory; null: not so.
template <class T, class I>
void scatter(const View<Accumulation<T>, I>& in, int divisor, const Region& region,
             const FilterFunctions* past_caches, T* dense) {
  constexpr size_t kTile = size_t{8192} / sizeof(T);
  const size_t begin = region.begin, end = region.end;
  if (!in.index) {
    for (size_t i = begin; i < std::min(end, in.nnz); ++i)
      dense[i - begin] = result_value<T>(in.value[i], divisor);
    return;
  }
  size_t j = static_cast<size_t>(std::lower_bound(in.index, in.index + in.nnz, begin) - in.index);
  const auto write_entries = [&](size_t from, size_t to, T* at) {
    for (; j < in.nnz && in.index[j] < to; ++j)
      at[in.index[j] - from] = result_value<T>(in.value[j], divisor);
  };
  alignas(kAlignment) T built[kTile] = {};
  for (size_t tile = begin; tile < end;) {
    T* const at = dense + (tile - begin);
    const size_t past = reinterpret_cast<uintptr_t>(at) % kAlignment;
    const size_t next = std::min(tile + kTile - past / sizeof(T), end);
    if (!past_caches || past != 0 || next - tile < kTile) {
      std::fill_n(at, next - tile, T{0});
      write_entries(tile, next, at);
    } else {
      const size_t first = j;
      write_entries(tile, next, built);
      past_caches->stream(at, built, sizeof built);
      for (size_t i = first; i < j; ++i) built[in.index[i] - tile] = T{0};
    }
    tile = next;
  }
  if (past_caches) past_caches->finish();
}

/// Does the same for blocks. The region is one of blocks.
template <class T, class I>
void scatter_blocks(const View<Accumulation<T>, I>& in, size_t block_size, int divisor,
                    const Region& region, T* dense) {
  const auto begin =
      static_cast<size_t>(std::lower_bound(in.index, in.index + in.nnz, region.begin) - in.index);
  T* next = dense;
  for (size_t j = begin; j < in.nnz && in.index[j] < region.end; ++j) {
    T* const block = dense + (in.index[j] - region.begin) * block_size;
    std::fill(next, block, T{0});
    const Accumulation<T>* const value = in.value + j * block_size;
    next = std::transform(value, value + block_size, block, [divisor](Accumulation<T> each) {
      return result_value<T>(each, divisor);
    });
  }
  std::fill(next, dense + region.length() * block_size, T{0});
}

template <class T>
void scale(T* values, size_t count, double factor) {
  const T narrow = static_cast<T>(factor);
  if (factor == 0)
    std::fill_n(values, count, T{0});  // also clears values that are not finite
  else
    for (size_t i = 0; i < count; ++i) values[i] *= narrow;
}

/// Returns whether each of n indices is larger than the one before it.
template <class I>
bool rising(const I* index, size_t n, const SparseLoops* loops) {
  if constexpr (sizeof(I) == 4)
    if (loops) return loops->rising(index, n);
  bool falls = false;  // without a branch, so that compilers compare many at once
  for (size_t j = 1; j < n; ++j) falls |= index[j] <= index[j - 1];
  return !falls;
}

template <class T, class I>
void check_indices(const View<T, I>& in, const Region& region, const SparseLoops* loops,
                   uint64_t* first_bad) {
  *first_bad = in.nnz;
  const bool sound = in.nnz == 0 || (in.at(0) >= region.begin && in.at(in.nnz - 1) < region.end &&
                                     (!in.index || rising(in.index, in.nnz, loops)));
  for (size_t j = 0; !sound && j < in.nnz; ++j) {
    if (in.at(j) >= region.begin && in.at(j) < region.end && (j == 0 || in.at(j) > in.at(j - 1)))
      continue;
    *first_bad = j;
    return;
  }
}

}  // namespace sparsecoll::host
