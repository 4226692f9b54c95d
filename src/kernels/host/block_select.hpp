// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Selection among blocks by their keys (kernels/block_key.hpp).

#include <algorithm>

#include "core/arena.hpp"
#include "core/numeric.hpp"
#include "kernels/block_key.hpp"
#include "kernels/host/select.hpp"
#include "kernels/host/view.hpp"

namespace sparsecoll::host {

/// Returns the key of a block.
template <class T>
uint64_t block_key(const T* block, size_t block_size) {
  BlockKey key;
  for (size_t i = 0; i < block_size; ++i) key.add(block[i]);
  return key.get();
}

/// Returns a vector of the keys of a vector's blocks. As integers they are their own keys.
template <class T, class I>
View<uint64_t, I> block_keys(const View<T, I>& in, size_t block_size, Arena& arena) {
  auto* const key = arena.take<uint64_t>(in.nnz);
  for (size_t j = 0; j < in.nnz; ++j) key[j] = block_key(in.value + j * block_size, block_size);
  return View<uint64_t, I>(SparseSpan{in.index, key, {in.nnz, nullptr}});
}

/// Appends blocks to a SparseBuffer. done() publishes the count.
template <class T, class I>
class BlockWriter {
 public:
  BlockWriter(const SparseBuffer& out, size_t block_size)
      : index_(static_cast<I*>(out.index)),
        value_(static_cast<T*>(out.value)),
        out_(out),
        block_size_(block_size) {}
  void add(uint64_t index, const T* block) {
    index_[n_] = static_cast<I>(index);
    std::copy_n(block, block_size_, value_ + n_ * block_size_);
    ++n_;
  }
  void done() { *out_.nnz = n_; }

 private:
  I* const index_;
  T* const value_;
  const SparseBuffer& out_;
  const size_t block_size_;
  size_t n_ = 0;
};

/// Splits blocks into those that pass and the others that are not all zeros. A `dropped` of
/// capacity 0 gets nothing.
template <class T, class I>
void partition_blocks(const View<T, I>& in, const View<uint64_t, I>& keys, size_t block_size,
                      const Threshold& threshold, const SparseBuffer& kept,
                      const SparseBuffer& dropped) {
  ThresholdTest test(threshold);
  BlockWriter<T, I> keep(kept, block_size), drop(dropped, block_size);
  for (size_t j = 0; j < in.nnz; ++j) {
    const T* const block = in.value + j * block_size;
    if (test.passes(keys.value[j]))
      keep.add(in.at(j), block);
    else if (dropped.capacity > 0 && keys.value[j] != 0)
      drop.add(in.at(j), block);
  }
  keep.done();
  if (dropped.capacity > 0) drop.done();
}

/// Returns the threshold that the k largest of these blocks pass.
template <class I>
Threshold find_block_threshold(const View<uint64_t, I>& keys, size_t k) {
  return find_threshold<uint64_t>(keys.nnz, k, [&keys](size_t j) { return keys.value[j]; });
}

/// Selects the k largest blocks of acc = gradient + residual. The gradient's count is in blocks.
template <class T, class I>
void accumulate_select_blocks(const Gradient& gradient, size_t block_size, size_t k,
                              const SparseBuffer& selected, Arena& arena) {
  using Acc = Accumulation<T>;
  const Arena::Scope scope(arena);
  const size_t values = gradient.count * block_size;
  auto* const next = static_cast<Acc*>(gradient.residual.write);
  Acc* const acc = next ? next : arena.take<Acc>(values);
  accumulate<T>({gradient.values, values, gradient.residual}, acc);
  const View<Acc, I> all(SparseSpan{nullptr, acc, {gradient.count, nullptr}});
  const View<uint64_t, I> keys = block_keys(all, block_size, arena);
  ThresholdTest test(find_block_threshold(keys, k));
  I* index = static_cast<I*>(selected.index);
  Acc* sent = static_cast<Acc*>(selected.value);
  for (size_t j = 0; j < gradient.count; ++j) {
    if (!test.passes(keys.value[j])) continue;
    *index++ = static_cast<I>(j);
    for (Acc* value = acc + j * block_size; value < acc + (j + 1) * block_size; ++value) {
      *sent = delivered(sent_part<T>(*value));
      *value = finite(*value) ? *value - *sent : Acc{0};
      ++sent;
    }
  }
  *selected.nnz = static_cast<uint64_t>(index - static_cast<I*>(selected.index));
}

}  // namespace sparsecoll::host
