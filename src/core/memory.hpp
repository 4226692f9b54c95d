// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/types.hpp"

namespace sparsecoll {

inline constexpr size_t kAlignment = 64;

constexpr size_t align_up(size_t n, size_t alignment = kAlignment) {
  return (n + alignment - 1) / alignment * alignment;
}

/// Blocks of at least this many bytes get huge pages, if the system has them: algorithms access
/// residuals and regions at random indices, and then look up a page for nearly each access.
inline constexpr size_t kHugeBlock = size_t{4} << 20;

/// Allocates memory that std::free() frees. Returns null if there is none. Blocks of at least 1 MiB
/// begin at the beginning of a page.
void* allocate_on_host(size_t bytes);

/// The source of all bulk memory: workspace, messages, residuals. Counts allocations, so that tests
/// can prove that a steady state has none, and can make the n-th allocation fail.
class Memory {
 public:
  Memory() = default;
  virtual ~Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Returns memory that is aligned to kAlignment. Throws std::bad_alloc.
  void* allocate(size_t bytes);
  void release(void* at, size_t bytes) noexcept;
  /// Copies bytes of this memory to the host.
  virtual void read(const void* at, size_t bytes, void* to);

  size_t allocations() const { return allocations_; }
  size_t bytes_in_use() const { return in_use_; }
  /// Makes the n-th allocation from now on fail. 1: the next one; 0: none.
  void fail_at(size_t n) { fail_in_ = n; }

 private:
  /// Allocates bytes: on the host's heap, unless a subclass overrides it. Returns null if there is
  /// no memory.
  virtual void* obtain(size_t bytes);
  virtual void give_up(void* at) noexcept;

  std::atomic<size_t> allocations_{0};
  std::atomic<size_t> in_use_{0};
  std::atomic<size_t> fail_in_{0};
};

/// Owns one allocation.
class Block {
 public:
  Block() = default;
  Block(Memory& memory, size_t bytes)
      : memory_(&memory), data_(static_cast<std::byte*>(memory.allocate(bytes))), size_(bytes) {}
  Block(Block&& other) noexcept { swap(other); }
  Block& operator=(Block&& other) noexcept {
    Block(std::move(other)).swap(*this);
    return *this;
  }
  ~Block() {
    if (data_) memory_->release(data_, size_);
  }
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  bool is_from(const Memory& memory) const { return memory_ == &memory; }
  /// Copies the first `bytes` bytes of the block to the host.
  void read(size_t bytes, void* to) const { memory_->read(data_, bytes, to); }
  /// Gives up the memory for good, because an abandoned message may still access it. Returns its
  /// size in bytes.
  size_t leak() noexcept {
    data_ = nullptr;
    return std::exchange(size_, 0);
  }

 private:
  void swap(Block& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  Memory* memory_ = nullptr;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

class Pool;

/// A block on loan from a Pool, to which it returns.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Pool& pool, Block block, size_t size)
      : pool_(&pool), block_(std::move(block)), size_(size) {}
  Buffer(Buffer&& other) noexcept = default;
  Buffer& operator=(Buffer&& other) noexcept {
    give_back();
    pool_ = other.pool_;
    block_ = std::move(other.block_);
    size_ = other.size_;
    return *this;
  }
  ~Buffer() { give_back(); }
  std::byte* data() const { return block_.data(); }
  size_t size() const { return size_; }
  size_t capacity() const { return block_.size(); }
  /// Reduces its size to the first bytes.
  void shorten(size_t bytes) { size_ = bytes; }
  /// Copies all of it to the host.
  void read(void* to) const { block_.read(size_, to); }
  /// Calls Pool::reserve() of its pool.
  void reserve(size_t count, size_t spare) const;
  size_t leak() noexcept { return block_.leak(); }

 private:
  void give_back() noexcept;
  Pool* pool_ = nullptr;
  Block block_;
  size_t size_ = 0;
};

/// Blocks for received messages, by power-of-two size, which are kept for reuse. Any thread may use
/// it. It outlives its buffers.
class Pool {
 public:
  explicit Pool(Memory& memory) : memory_(memory) {}
  /// Sets the number of peers that send messages. The more peers there are, the smaller are the
  /// blocks of small messages, so that a message of each peer does not need too much memory.
  void set_peers(size_t peers);
  /// Takes large blocks from this memory from now on, as long as it has any. Other large blocks are
  /// freed when they return. May be called once.
  void take_large_from(std::shared_ptr<Memory> memory);
  Buffer take(size_t bytes);
  /// Takes a block that is hardly larger than the message. For messages that may wait for long
  /// beside many others.
  Buffer take_fitting(size_t bytes);
  /// Makes sure that `count` blocks for messages of the size of `example` exist, in use or not. If
  /// blocks are missing, it makes `spare` blocks more than are missing.
  void reserve(const Buffer& example, size_t count, size_t spare = 0);

 private:
  friend class Buffer;
  static constexpr size_t kSmallClass = 12;  ///< blocks for small messages: 4 KiB
  /// The classes whose blocks may hold a message.
  struct Classes {
    size_t least;  ///< a new block has at least this class
    size_t most;   ///< the largest class of a block that is used again
  };
  Buffer take_from(const Classes& classes, size_t bytes);
  void reserve_class(size_t its_class, size_t count, size_t spare);
  Memory& memory_of(size_t its_class) const;
  Block make(size_t its_class);
  void give_back(Block block) noexcept;

  Memory& memory_;
  std::shared_ptr<Memory> large_;  ///< source of large blocks; null: memory_
  std::mutex mutex_;
  size_t smallest_class_ = kSmallClass;
  std::array<std::vector<Block>, 64> free_;
  std::array<size_t, 64> made_{};
};

}  // namespace sparsecoll
