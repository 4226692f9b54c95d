// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <utility>

#include "core/arena.hpp"
#include "kernels/host/view.hpp"

namespace sparsecoll::host {

/// Sum of P sorted pieces by index tiles: each tile adds the pieces' entries in the pieces' order
/// into a small dense array, with a bitmap of what is occupied, and writes it out in index order.
/// Tiles without entries are never visited.
template <class T, class I>
class TileMerge {
 public:
  TileMerge(std::span<const SparseSpan> pieces, Arena& arena)
      : pieces_(pieces),
        next_(arena.take_span<size_t>(pieces.size())),
        sum_(arena.take<T>(kTile)),
        occupied_(arena.take_span<uint64_t>(kTile / 64)) {}

  void run(const SparseBuffer& out) {
    Writer<T, I> writer(out);
    for (uint64_t tile = first_tile(); tile != kNone; tile = first_tile()) {
      for (size_t p = 0; p < pieces_.size(); ++p) add_piece(p, tile);
      write(tile * kTile, writer);
    }
    writer.done();
  }

 private:
  static constexpr uint64_t kTile = 8192;
  static constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

  uint64_t first_tile() const {
    uint64_t first = kNone;
    for (size_t p = 0; p < pieces_.size(); ++p) {
      const View<T, I> piece(pieces_[p]);
      if (next_[p] < piece.nnz) first = std::min(first, uint64_t{piece.at(next_[p])} / kTile);
    }
    return first;
  }

  void add_piece(size_t p, uint64_t tile) {
    const View<T, I> piece(pieces_[p]);
    size_t j = next_[p];
    for (; j < piece.nnz && piece.at(j) / kTile == tile; ++j) {
      const uint64_t slot = piece.at(j) % kTile;
      const uint64_t bit = uint64_t{1} << (slot % 64);
      if (occupied_[slot / 64] & bit) {
        sum_[slot] += piece.value[j];
      } else {
        occupied_[slot / 64] |= bit;
        sum_[slot] = piece.value[j];
      }
    }
    next_[p] = j;
  }

  void write(uint64_t begin, Writer<T, I>& writer) {
    for (size_t w = 0; w < occupied_.size(); ++w) {
      for (uint64_t bits = std::exchange(occupied_[w], 0); bits != 0; bits &= bits - 1) {
        const uint64_t slot = w * 64 + static_cast<uint64_t>(std::countr_zero(bits));
        writer.add(begin + slot, sum_[slot]);
      }
    }
  }

  std::span<const SparseSpan> pieces_;
  std::span<size_t> next_;
  T* sum_;
  std::span<uint64_t> occupied_;
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

template <class T, class I>
void merge(std::span<const SparseSpan> pieces, const SparseBuffer& out, Arena& arena) {
  if (!out.index) return merge_dense<T, I>(pieces, out);
  const Arena::Scope scope(arena);
  TileMerge<T, I>(pieces, arena).run(out);
}

template <class T, class I>
void concatenate(std::span<const SparseSpan> pieces, const SparseBuffer& out) {
  Writer<T, I> writer(out);
  for (const SparseSpan& each : pieces) {
    const View<T, I> piece(each);
    for (size_t j = 0; j < piece.nnz; ++j) writer.add(piece.at(j), piece.value[j]);
  }
  writer.done();
}

}  // namespace sparsecoll::host
