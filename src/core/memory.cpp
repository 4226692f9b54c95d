// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/memory.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace sparsecoll {

namespace {
constexpr size_t kSmallestFittingClass = 8;        // 256 bytes
constexpr size_t kSmallBytes = size_t{256} << 10;  // bytes of a small message of each peer
constexpr size_t kLargeClass = 16;                 // blocks of 64 KiB or more

/// Returns the class of the smallest block with at least this many bytes.
size_t class_of(size_t bytes, size_t smallest = 0) {
  return std::max(static_cast<size_t>(std::countr_zero(std::bit_ceil(bytes))), smallest);
}
}  // namespace

void* Memory::allocate(size_t bytes) {
  ++allocations_;
  if (fail_in_ != 0 && --fail_in_ == 0) throw std::bad_alloc();
  if (bytes > static_cast<size_t>(-1) - kAlignment) throw std::bad_alloc();
  void* at = obtain(align_up(std::max<size_t>(bytes, 1)));
  if (!at) throw std::bad_alloc();
  in_use_ += bytes;
  return at;
}

void Memory::release(void* at, size_t bytes) noexcept {
  in_use_ -= bytes;
  give_up(at);
}

void Memory::read(const void* at, size_t bytes, void* to) { std::memcpy(to, at, bytes); }

void* allocate_on_host(size_t bytes) {
  constexpr size_t kLargestPage = size_t{1} << 16;  // without huge pages
  constexpr size_t kHugePage = size_t{2} << 20;
  const size_t alignment = bytes < (size_t{1} << 20) ? kAlignment
                           : bytes < kHugePage       ? kLargestPage
                                                     : kHugePage;
  void* const at = std::aligned_alloc(alignment, align_up(bytes, alignment));
#ifdef MADV_HUGEPAGE
  // If the system has no huge pages, access is only slower. A small block gets no huge page that it
  // would not fill.
  const size_t huge =
      bytes < kHugeBlock ? bytes / kHugePage * kHugePage : align_up(bytes, kHugePage);
  if (at && huge > 0) static_cast<void>(madvise(at, huge, MADV_HUGEPAGE));
#endif
  return at;
}

void* Memory::obtain(size_t bytes) { return allocate_on_host(bytes); }

void Memory::give_up(void* at) noexcept { std::free(at); }

void Buffer::reserve(size_t count, size_t spare) const { pool_->reserve(*this, count, spare); }

void Buffer::give_back() noexcept {
  if (block_.data()) pool_->give_back(std::move(block_));
}

Memory& Pool::memory_of(size_t its_class) const {
  return large_ && its_class >= kLargeClass ? *large_ : memory_;
}

Block Pool::make(size_t its_class) {
  const size_t bytes = size_t{1} << its_class;
  if (&memory_of(its_class) == &memory_) return Block(memory_, bytes);
  try {
    return Block(*large_, bytes);
  } catch (const std::exception&) {
    return Block(memory_, bytes);  // slower, but works as well
  }
}

void Pool::take_large_from(std::shared_ptr<Memory> memory) {
  std::vector<Block> old;  // freed after the lock is released
  const std::lock_guard lock(mutex_);
  size_t blocks = 0;
  for (size_t c = kLargeClass; c < free_.size(); ++c) blocks += free_[c].size();
  old.reserve(blocks);
  large_ = std::move(memory);
  for (size_t c = kLargeClass; c < free_.size(); ++c) {
    made_[c] -= free_[c].size();
    std::ranges::move(free_[c], std::back_inserter(old));
    free_[c].clear();
  }
}

// Small messages get blocks of 4 KiB if there are few peers, so that any free block fits any of
// them.
void Pool::set_peers(size_t peers) {
  const size_t fair = std::bit_width(kSmallBytes / std::max<size_t>(peers, 1)) - 1;
  const std::lock_guard lock(mutex_);
  smallest_class_ = std::clamp(fair, kSmallestFittingClass, kSmallClass);
}

Buffer Pool::take(size_t bytes) {
  const std::lock_guard lock(mutex_);
  return take_from({smallest_class_, kSmallClass}, bytes);
}

Buffer Pool::take_fitting(size_t bytes) {
  const std::lock_guard lock(mutex_);
  return take_from({kSmallestFittingClass, 0}, bytes);
}

Buffer Pool::take_from(const Classes& classes, size_t bytes) {
  if (bytes > static_cast<size_t>(-1) / 4) throw std::bad_alloc();
  // Also takes a block one or two classes larger, because sizes of one shape vary around a
  // boundary.
  const size_t smallest = class_of(bytes, classes.least);
  const size_t largest = std::min(std::max(smallest + 2, classes.most), free_.size() - 1);
  for (size_t c = smallest; c <= largest; ++c) {
    if (free_[c].empty()) continue;
    Block block = std::move(free_[c].back());
    free_[c].pop_back();
    return Buffer(*this, std::move(block), bytes);
  }
  const size_t roomy = class_of(bytes + bytes / 4, classes.least);
  free_[roomy].reserve(made_[roomy] + 1);
  Buffer buffer(*this, make(roomy), bytes);
  ++made_[roomy];
  return buffer;
}

void Pool::reserve(const Buffer& example, size_t count, size_t spare) {
  const std::lock_guard lock(mutex_);
  const size_t c = class_of(example.capacity());
  reserve_class(c, count, spare);
  if (c < kSmallClass) reserve_class(kSmallClass, spare, 0);  // for small messages that are longer
}

void Pool::reserve_class(size_t c, size_t count, size_t spare) {
  if (made_[c] >= count) return;
  free_[c].reserve(count + spare);
  for (; made_[c] < count + spare; ++made_[c]) free_[c].push_back(make(c));
}

void Pool::give_back(Block block) noexcept {
  const std::lock_guard lock(mutex_);
  const size_t c = class_of(block.size());
  if (!block.is_from(memory_of(c))) {
    --made_[c];
    return;
  }
  // This does not allocate: when a block is made, room for it in the list is reserved.
  free_[c].push_back(std::move(block));
}

}  // namespace sparsecoll
