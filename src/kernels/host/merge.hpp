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
#include "kernels/host/pair_merge.hpp"
#include "kernels/host/sweep.hpp"
#include "kernels/host/view.hpp"

namespace sparsecoll::host {

/// Which sums are written: all,
struct Everything {
  static constexpr uint64_t key = 0;
  static constexpr std::nullptr_t harvest = nullptr;

  template <class T>
  constexpr bool operator()(T) const {
    return true;
  }
};
/// or those with a key of at least that, which is one of T and not 0. Where sums are many
/// `harvest`, if there is one, finds them, which is quicker than to mark what is occupied.
template <class T>
struct Reaching {
  uint64_t key;
  HarvestFunction<T> harvest;

  bool operator()(T value) const { return key_of(value) >= key; }
};

/// Sum of P sorted pieces by tiles of indices: each tile adds the pieces' entries in the pieces'
/// order into a small dense array, with a bitmap of what is occupied and another of which words of
/// that are, and writes it out in index order. Tiles begin where there is an entry, and are the
/// longer the rarer entries are, so that what one has of them stays in the nearest cache. Where
/// they are not rare the array starts, and is left, as the neutral element of addition, so that the
/// first entry of an index needs no other treatment. Where sums are harvested it starts as zeros,
/// which no bound is below, and needs no bitmap.
template <class T, class I, class Passes>
class TileMerge {
 public:
  TileMerge(std::span<const SparseSpan> pieces, const Passes& passes, Arena& arena)
      : pieces_(pieces),
        passes_(passes),
        length_(tile_length(pieces)),
        harvest_(length_ == kShortest ? passes.harvest : nullptr),
        next_(arena.take_span<size_t>(pieces.size())),
        sum_(arena.take<T>(length_)),
        occupied_(arena.take_span<uint64_t>(length_ / 64)),
        used_(arena.take_span<uint64_t>(length_ / (64 * 64))),
        slot_(arena.take<uint32_t>(harvest_ ? kShortest + kBehind : 0)),
        value_(arena.take<T>(harvest_ ? kShortest + kBehind : 0)) {
    if (length_ == kShortest) std::fill_n(sum_, length_, harvest_ ? T{0} : kNothing);
  }

  void run(const SparseBuffer& out) {
    Writer<T, I> writer(out);
    for (auto begin = first(); begin; begin = first()) {
      if (length_ > kShortest) {
        add_pieces<Marks::used>(*begin);
        write_used(*begin, writer);
      } else if (harvest_) {
        add_pieces<Marks::none>(*begin);
        const size_t n = harvest_({sum_, kShortest, passes_.key, slot_, value_});
        for (size_t j = 0; j < n; ++j) writer.add(*begin + slot_[j], value_[j]);
      } else {
        add_pieces<Marks::occupied>(*begin);
        for (size_t w = 0; w < occupied_.size(); ++w) write_word<false>(w, *begin, writer);
      }
    }
    writer.done();
  }

 private:
  enum class Marks { none, occupied, used };  ///< each with those before it

  static constexpr uint64_t kShortest = 8192;
  static constexpr uint64_t kLongest = 64 * 4096;
  static constexpr uint64_t kEntries = 256;  ///< in a tile, if they were spread evenly
  static constexpr T kNothing = Integer<T> ? T{0} : -T{0};  ///< x + -0 is x, for either zero too

  /// A power of two.
  static uint64_t tile_length(std::span<const SparseSpan> pieces) {
    uint64_t entries = 0, begin = ~uint64_t{0}, end = 0;
    for (const SparseSpan& each : pieces) {
      const View<T, I> piece(each);
      if (piece.nnz == 0) continue;
      entries += piece.nnz;
      begin = std::min(begin, piece.at(0));
      end = std::max(end, piece.at(piece.nnz - 1));
    }
    const uint64_t all = end - std::min(begin, end);
    uint64_t length = kShortest;
    while (length < std::min(kLongest, all) && entries * length / kEntries < all) length *= 2;
    return length;
  }

  /// Where pieces are left, the first index that has not been added yet.
  std::optional<uint64_t> first() const {
    std::optional<uint64_t> first;
    for (size_t p = 0; p < pieces_.size(); ++p) {
      const View<T, I> piece(pieces_[p]);
      if (next_[p] == piece.nnz) continue;
      const uint64_t next = piece.at(next_[p]);
      first = std::min(first.value_or(next), next);
    }
    return first;
  }

  template <Marks kMarks>
  void add_pieces(uint64_t begin) {
    for (size_t p = 0; p < pieces_.size(); ++p) add_piece<kMarks>(p, begin);
  }

  template <Marks kMarks>
  void add_piece(size_t p, uint64_t begin) {
    constexpr bool kRare = kMarks == Marks::used;
    const View<T, I> piece(pieces_[p]);
    const uint64_t length = kRare ? length_ : kShortest;
    // Copies, which what is written below cannot change.
    T* const sum = sum_;
    uint64_t *const occupied = occupied_.data(), *const used = used_.data();
    size_t j = next_[p];
    for (; j < piece.nnz; ++j) {
      const uint64_t slot = piece.at(j) - begin;
      if (slot >= length) break;
      if constexpr (kMarks == Marks::none) {
        sum[slot] += piece.value[j];
        continue;
      }
      const uint64_t bit = uint64_t{1} << (slot % 64), before = occupied[slot / 64];
      const T value = piece.value[j], both = sum[slot] + value;
      sum[slot] = kRare && !(before & bit) ? value : both;
      occupied[slot / 64] = before | bit;
      if constexpr (kRare) used[slot / (64 * 64)] |= uint64_t{1} << (slot / 64 % 64);
    }
    next_[p] = j;
  }

  /// The entries of one word.
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

  std::span<const SparseSpan> pieces_;
  const Passes passes_;
  const uint64_t length_;
  const HarvestFunction<T> harvest_;
  std::span<size_t> next_;
  T* sum_;
  std::span<uint64_t> occupied_;
  std::span<uint64_t> used_;
  uint32_t* slot_;  ///< of what was harvested
  T* value_;
};

/// Sum of dense pieces of one length, in their order.
template <class T, class I>
void merge_dense(std::span<const SparseSpan> pieces, const SparseBuffer& out) {
  T* sum = static_cast<T*>(out.value);
  const View<T, I> first(pieces[0]);
  std::copy_n(first.value, first.nnz, sum);
  for (const SparseSpan& piece : pieces.subspan(1)) {
    const T* value = static_cast<const T*>(piece.value);
    for (size_t i = 0; i < first.nnz; ++i) sum[i] += value[i];
  }
  *out.nnz = first.nnz;
}

template <class T, class I, class Passes>
void merge_sparse(std::span<const SparseSpan> pieces, const Passes& passes, const SparseBuffer& out,
                  Arena& arena) {
  const auto piece = [pieces](size_t p) {
    return View<T, I>(p < pieces.size() ? pieces[p] : SparseSpan{});
  };
  const auto has_indices = [](const SparseSpan& each) { return each.index != nullptr; };
  if (pieces.size() <= 2 && std::ranges::all_of(pieces, has_indices))
    return PairMerge<T, I, Passes>(piece(0), piece(1), passes).run(out);
  const Arena::Scope scope(arena);
  TileMerge<T, I, Passes>(pieces, passes, arena).run(out);
}

template <class T, class I>
void merge(std::span<const SparseSpan> pieces, const SparseBuffer& out, Arena& arena) {
  if (out.index)
    merge_sparse<T, I>(pieces, Everything{}, out, arena);
  else
    merge_dense<T, I>(pieces, out);
}

template <class T, class I>
void concatenate(std::span<const SparseSpan> pieces, const SparseBuffer& out) {
  I* index = static_cast<I*>(out.index);
  T* value = static_cast<T*>(out.value);
  *out.nnz = 0;
  for (const SparseSpan& each : pieces) {
    const View<T, I> piece(each);
    if (piece.index)
      index = std::copy_n(piece.index, piece.nnz, index);
    else
      for (size_t j = 0; j < piece.nnz; ++j) *index++ = static_cast<I>(j);
    value = std::copy_n(piece.value, piece.nnz, value);
    *out.nnz += piece.nnz;
  }
}

}  // namespace sparsecoll::host
