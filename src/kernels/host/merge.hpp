// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <utility>

#include "core/arena.hpp"
#include "core/numeric.hpp"
#include "kernels/host/filter.hpp"
#include "kernels/host/pair_merge.hpp"
#include "kernels/host/view.hpp"

namespace sparsecoll::host {

/// Writes all sums.
struct AllSums {
  static constexpr uint64_t key = 0;
  static constexpr std::nullptr_t extract = nullptr;

  template <class T>
  constexpr bool operator()(T) const {
    return true;
  }
};
/// Writes the sums with a key of at least `key`, which is a key of T and not 0. `extract`, if it is
/// not null, finds them if there are many sums: then it is faster than a bitmap.
template <class T>
struct SumsAtLeast {
  uint64_t key;
  ExtractFunction<T> extract;

  bool operator()(T value) const { return key_of(value) >= key; }
};

/// Returns the number of indices of a tile of TileMerge.
inline constexpr uint64_t kShortestTile = 8192;
inline constexpr uint64_t kLongestTile = 64 * 4096;

/// Returns an upper bound of the bytes that TileMerge takes from the arena for values of any type,
/// if all indices lie within `length`. The shortest tile, with the sums extracted from it and a
/// position in each input, takes less than kLeast. A longer tile has less than twice as many
/// indices as the range, and takes at most 9 bytes for each: 8 for the sum, less than 1 for its
/// bits in the bitmaps.
constexpr size_t merge_workspace(uint64_t length) {
  constexpr uint64_t kLeast = uint64_t{1} << 18, kMost = 9 * kLongestTile,
                     kEach = 2 * sizeof(double);
  return std::min(kLeast + kEach * std::min(length, kMost), kMost);
}

/// Adds P sorted inputs by tiles of indices. Each tile adds the entries of the inputs, in the order
/// of the inputs, into a small dense array, and writes it out in index order. One bitmap marks the
/// occupied elements, another one the words of the first that are not 0. A tile begins at an entry.
/// The rarer entries are, the longer are the tiles, so that the entries of a tile stay in the
/// nearest cache. If entries are not rare, the array begins and ends as the neutral element of
/// addition, so that the first entry of an index is no special case. If sums are extracted, it
/// begins as zeros, which reach no bound, and needs no bitmap.
template <class T, class I, class Passes>
class TileMerge {
 public:
  TileMerge(std::span<const SparseSpan> inputs, const Passes& passes, Arena& arena)
      : inputs_(inputs),
        passes_(passes),
        length_(tile_length(inputs)),
        extract_(length_ == kShortestTile ? passes.extract : nullptr),
        next_(arena.take_span<size_t>(inputs.size())),
        sum_(arena.take<T>(length_)),
        occupied_(arena.take_span<uint64_t>(length_ / 64)),
        used_(arena.take_span<uint64_t>(length_ / (64 * 64))),
        slot_(arena.take<uint32_t>(extract_ ? kShortestTile + kExtractSlack : 0)),
        value_(arena.take<T>(extract_ ? kShortestTile + kExtractSlack : 0)) {
    if (length_ == kShortestTile) std::fill_n(sum_, length_, extract_ ? T{0} : kNothing);
  }

  void run(const SparseBuffer& out) {
    Writer<T, I> writer(out);
    for (auto begin = first(); begin; begin = first()) {
      if (length_ > kShortestTile) {
        add_inputs<Marks::used>(*begin);
        write_used(*begin, writer);
      } else if (extract_) {
        add_inputs<Marks::none>(*begin);
        const size_t n = extract_({sum_, kShortestTile, passes_.key, slot_, value_});
        for (size_t j = 0; j < n; ++j) writer.add(*begin + slot_[j], value_[j]);
      } else {
        add_inputs<Marks::occupied>(*begin);
        for (size_t w = 0; w < occupied_.size(); ++w) write_word<false>(w, *begin, writer);
      }
    }
    writer.done();
  }

 private:
  enum class Marks { none, occupied, used };  ///< each includes those before it

  static constexpr uint64_t kEntries = 256;  ///< entries of a tile if they were spread evenly
  static constexpr T kNothing = Integer<T> ? T{0} : -T{0};  ///< x + -0 is x, also for either zero

  /// Returns the length of a tile, a power of two.
  static uint64_t tile_length(std::span<const SparseSpan> inputs) {
    uint64_t entries = 0, begin = ~uint64_t{0}, end = 0;
    for (const SparseSpan& each : inputs) {
      const View<T, I> input(each);
      if (input.nnz == 0) continue;
      entries += input.nnz;
      begin = std::min(begin, input.at(0));
      end = std::max(end, input.at(input.nnz - 1));
    }
    const uint64_t all = end - std::min(begin, end);
    uint64_t length = kShortestTile;
    while (length < std::min(kLongestTile, all) && entries * length / kEntries < all) length *= 2;
    return length;
  }

  /// Returns the first index that has not been added yet, if any input has entries left.
  std::optional<uint64_t> first() const {
    std::optional<uint64_t> first;
    for (size_t p = 0; p < inputs_.size(); ++p) {
      const View<T, I> input(inputs_[p]);
      if (next_[p] == input.nnz) continue;
      const uint64_t next = input.at(next_[p]);
      first = std::min(first.value_or(next), next);
    }
    return first;
  }

  template <Marks kMarks>
  void add_inputs(uint64_t begin) {
    for (size_t p = 0; p < inputs_.size(); ++p) add_input<kMarks>(p, begin);
  }

  template <Marks kMarks>
  void add_input(size_t p, uint64_t begin) {
    constexpr bool kRare = kMarks == Marks::used;
    const View<T, I> input(inputs_[p]);
    const uint64_t length = kRare ? length_ : kShortestTile;
    // Copies of the members, so that the compiler knows that the writes below do not change them.
    T* const sum = sum_;
    uint64_t *const occupied = occupied_.data(), *const used = used_.data();
    size_t j = next_[p];
    for (; j < input.nnz; ++j) {
      const uint64_t slot = input.at(j) - begin;
      if (slot >= length) break;
      if constexpr (kMarks == Marks::none) {
        sum[slot] += input.value[j];
        continue;
      }
      const uint64_t bit = uint64_t{1} << (slot % 64), before = occupied[slot / 64];
      const T value = input.value[j], both = sum[slot] + value;
      sum[slot] = kRare && !(before & bit) ? value : both;
      occupied[slot / 64] = before | bit;
      if constexpr (kRare) used[slot / (64 * 64)] |= uint64_t{1} << (slot / 64 % 64);
    }
    next_[p] = j;
  }

  /// Writes the entries of one word of the bitmap.
  template <bool kRare>
  void write_word(size_t w, uint64_t begin, Writer<T, I>& writer) {
    for (uint64_t bits = std::exchange(occupied_[w], 0); bits != 0; bits &= bits - 1) {
      const uint64_t slot = w * 64 + static_cast<uint64_t>(std::countr_zero(bits));
      const T sum = kRare ? sum_[slot] : std::exchange(sum_[slot], kNothing);
      writer.add_if(passes_(sum), begin + slot, sum);
    }
  }

  void write_used(uint64_t begin, Writer<T, I>& writer) {
    for (size_t u = 0; u < used_.size(); ++u)
      for (uint64_t words = std::exchange(used_[u], 0); words != 0; words &= words - 1)
        write_word<true>(u * 64 + static_cast<size_t>(std::countr_zero(words)), begin, writer);
  }

  std::span<const SparseSpan> inputs_;
  const Passes passes_;
  const uint64_t length_;
  const ExtractFunction<T> extract_;
  std::span<size_t> next_;
  T* sum_;
  std::span<uint64_t> occupied_;
  std::span<uint64_t> used_;
  uint32_t* slot_;  ///< positions of the extracted sums
  T* value_;
};

/// Adds dense inputs of one length, in their order.
template <class T, class I>
void merge_dense(std::span<const SparseSpan> inputs, const SparseBuffer& out) {
  T* sum = static_cast<T*>(out.value);
  const View<T, I> first(inputs[0]);
  std::copy_n(first.value, first.nnz, sum);
  for (const SparseSpan& input : inputs.subspan(1)) {
    const T* value = static_cast<const T*>(input.value);
    for (size_t i = 0; i < first.nnz; ++i) sum[i] += value[i];
  }
  *out.nnz = first.nnz;
}

template <class T, class I, class Passes>
void merge_sparse(std::span<const SparseSpan> inputs, const Passes& passes, const SparseBuffer& out,
                  Arena& arena) {
  const auto input = [inputs](size_t p) {
    return View<T, I>(p < inputs.size() ? inputs[p] : SparseSpan{});
  };
  const auto has_indices = [](const SparseSpan& each) { return each.index != nullptr; };
  if (inputs.size() <= 2 && std::ranges::all_of(inputs, has_indices))
    return PairMerge<T, I, Passes>(input(0), input(1), passes).run(out);
  const Arena::Scope scope(arena);
  TileMerge<T, I, Passes>(inputs, passes, arena).run(out);
}

template <class T, class I>
void merge(std::span<const SparseSpan> inputs, const SparseBuffer& out, Arena& arena) {
  if (out.index)
    merge_sparse<T, I>(inputs, AllSums{}, out, arena);
  else
    merge_dense<T, I>(inputs, out);
}

template <class T, class I>
void concatenate(std::span<const SparseSpan> inputs, size_t block_size, const SparseBuffer& out) {
  I* index = static_cast<I*>(out.index);
  T* value = static_cast<T*>(out.value);
  *out.nnz = 0;
  for (const SparseSpan& each : inputs) {
    const View<T, I> input(each);
    if (input.index)
      index = std::copy_n(input.index, input.nnz, index);
    else
      for (size_t j = 0; j < input.nnz; ++j) *index++ = static_cast<I>(j);
    value = std::copy_n(input.value, input.nnz * block_size, value);
    *out.nnz += input.nnz;
  }
}

}  // namespace sparsecoll::host
