// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <new>
#include <vector>

#include "core/memory.hpp"

namespace sparsecoll {

/// The workspace of one communicator. Taking memory increments a pointer. Leaving a scope gives
/// back everything that was taken in it. After the outermost scope the blocks stay, with slack, so
/// that calls of a known shape do not allocate.
class Arena {
 public:
  /// Decides what happens to several blocks after the outermost scope: one block replaces them
  /// (`joined`), or they stay (`kept`). Choose `kept` if freeing memory could wait for ranks that
  /// wait for this thread.
  enum class Blocks { joined, kept };

  explicit Arena(Memory& memory, Blocks blocks = Blocks::joined)
      : memory_(memory), after_(blocks) {}

  /// Returns uninitialized memory for n values, aligned to kAlignment. Throws std::bad_alloc.
  template <class T>
  T* take(size_t n) {
    if (n > static_cast<size_t>(-1) / 2 / sizeof(T)) throw std::bad_alloc();
    return reinterpret_cast<T*>(take_bytes(n * sizeof(T)));
  }
  /// Returns uninitialized memory for n values as a span. Throws std::bad_alloc.
  template <class T>
  std::span<T> take_span(size_t n, const T& initial = T{}) {
    T* at = take<T>(n);
    std::uninitialized_fill_n(at, n, initial);
    return {at, n};
  }

  class Scope {
   public:
    explicit Scope(Arena& arena) : arena_(arena), block_(arena.block_), used_(arena.used_) {
      ++arena_.depth_;
    }
    ~Scope() { arena_.leave(block_, used_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Arena& arena_;
    size_t block_;
    size_t used_;
  };

  /// Gives up all blocks for good. Returns their bytes.
  size_t leak() noexcept;

 private:
  std::byte* take_bytes(size_t bytes) {
    bytes = align_up(bytes);
    if (block_ == blocks_.size() || blocks_[block_].size() - used_ < bytes) make_room(bytes);
    std::byte* const at = blocks_[block_].data() + used_;
    used_ += bytes;
    return at;
  }
  /// Goes on to a block that has room for `bytes` more.
  void make_room(size_t bytes);
  void leave(size_t block, size_t used) noexcept;

  Memory& memory_;
  const Blocks after_;
  std::vector<Block> blocks_;
  size_t block_ = 0;  ///< the block in use
  size_t used_ = 0;   ///< bytes of that block that are taken
  int depth_ = 0;
};

}  // namespace sparsecoll
