// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sum of vectors of blocks (sparsecollSparse_t::blockSize). A block is long, so that its values
// cost more than its index: the inputs are merged by a heap of their next indices, and each block
// of the sum is written once.

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "core/arena.hpp"
#include "kernels/host/view.hpp"

namespace sparsecoll::host {

/// The most blocks that are added in one pass.
inline constexpr size_t kMostBlocks = 4;

/// Computes the sum of N blocks in their order. `out` may be the first of them.
template <size_t N, class T>
void add_blocks(const T* const* blocks, size_t block_size, T* out) {
  typedef T Vector __attribute__((vector_size(16)));
  constexpr size_t kLanes = sizeof(Vector) / sizeof(T);
  std::array<const T*, N> block;  // a copy, so that the compiler knows that no write changes it
  std::copy_n(blocks, N, block.begin());
  size_t i = 0;
  for (; i + 2 * kLanes <= block_size; i += 2 * kLanes) {
    Vector sum, next_sum;
    std::memcpy(&sum, block[0] + i, sizeof sum);
    std::memcpy(&next_sum, block[0] + i + kLanes, sizeof next_sum);
    const auto add = [&](const T* from) {
      Vector value;
      std::memcpy(&value, from + i, sizeof value);
      sum += value;
      std::memcpy(&value, from + i + kLanes, sizeof value);
      next_sum += value;
    };
    // Unrolled, so that the sums stay in registers.
    [&]<size_t... b>(std::index_sequence<b...>) { (add(block[b + 1]), ...); }
    (std::make_index_sequence<N - 1>());
    std::memcpy(out + i, &sum, sizeof sum);
    std::memcpy(out + i + kLanes, &next_sum, sizeof next_sum);
  }
  for (; i < block_size; ++i) {
    T sum = block[0][i];
    for (size_t b = 1; b < N; ++b) sum += block[b][i];
    out[i] = sum;
  }
}

/// Computes the sum of one to kMostBlocks blocks in their order. `out` may be the first of them.
template <class T>
void add_blocks(std::span<const T* const> blocks, size_t block_size, T* out) {
  static_assert(kMostBlocks == 4);
  switch (blocks.size()) {
    case 1:
      return add_blocks<1>(blocks.data(), block_size, out);
    case 2:
      return add_blocks<2>(blocks.data(), block_size, out);
    case 3:
      return add_blocks<3>(blocks.data(), block_size, out);
    default:
      return add_blocks<4>(blocks.data(), block_size, out);
  }
}

/// The entries of P sorted inputs in the order of their indices; equal indices in the order of the
/// inputs.
template <class T, class I>
class BlocksInOrder {
 public:
  BlocksInOrder(std::span<const SparseSpan> inputs, size_t block_size, Arena& arena)
      : block_size_(block_size),
        heads_(arena.take<Head>(inputs.size())),
        rest_(arena.take<Rest>(inputs.size())) {
    for (size_t p = 0; p < inputs.size(); ++p) {
      const View<T, I> input(inputs[p]);
      if (input.nnz == 0) continue;
      rest_[p] = {input.index, input.index + input.nnz, input.value};
      heads_[size_++] = {input.index[0], static_cast<uint32_t>(p)};
    }
    for (size_t h = size_ / 2; h-- > 0;) sift_down(h);
  }

  bool empty() const { return size_ == 0; }
  /// The index of the next entry.
  I index() const { return heads_[0].index; }
  /// Returns whether the next entry has this index.
  bool has(I index) const { return size_ > 0 && heads_[0].index == index; }
  /// Returns the block of the next entry, and goes on to the one behind it.
  const T* take() {
    Head& head = heads_[0];
    Rest& rest = rest_[head.input];
    const T* const block = rest.value;
    rest.value += block_size_;
    if (++rest.at == rest.end)
      head = heads_[--size_];
    else
      head.index = *rest.at;
    sift_down(0);
    return block;
  }

 private:
  /// The next entry of an input.
  struct Head {
    I index;
    uint32_t input;

    bool operator<(const Head& other) const {
      return index != other.index ? index < other.index : input < other.input;
    }
  };
  /// The entries of an input from the next one on.
  struct Rest {
    const I* at;
    const I* end;
    const T* value;
  };

  void sift_down(size_t h) {
    for (size_t child = 2 * h + 1; child < size_; child = 2 * h + 1) {
      if (child + 1 < size_ && heads_[child + 1] < heads_[child]) ++child;
      if (!(heads_[child] < heads_[h])) return;
      std::swap(heads_[h], heads_[child]);
      h = child;
    }
  }

  const size_t block_size_;
  Head* const heads_;  ///< a heap whose first element has the least index
  Rest* const rest_;   ///< by input
  size_t size_ = 0;
};

/// Adds sparse inputs in their order, block by block. `out` gets the sums that pass; it has room
/// for all of them.
template <class T, class I, class Passes>
void merge_blocks(std::span<const SparseSpan> inputs, size_t block_size, const Passes& passes,
                  const SparseBuffer& out, Arena& arena) {
  const Arena::Scope scope(arena);
  I* index = static_cast<I*>(out.index);
  T* sum = static_cast<T*>(out.value);
  std::array<const T*, kMostBlocks> blocks;  // of one index
  for (BlocksInOrder<T, I> next(inputs, block_size, arena); !next.empty();) {
    const I at = next.index();
    size_t n = 0;
    do {
      if (n == blocks.size()) {
        add_blocks<T>(blocks, block_size, sum);
        blocks[0] = sum;
        n = 1;
      }
      blocks[n++] = next.take();
    } while (next.has(at));
    add_blocks<T>(std::span(blocks).first(n), block_size, sum);
    if (!passes(sum)) continue;
    *index++ = at;
    sum += block_size;
  }
  *out.nnz = static_cast<uint64_t>(index - static_cast<I*>(out.index));
}

}  // namespace sparsecoll::host
