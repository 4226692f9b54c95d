// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/arena.hpp"

#include <algorithm>

namespace sparsecoll {

namespace {
constexpr size_t kSmallestBlock = size_t{1} << 16;
}

void Arena::make_room(size_t bytes) {
  while (block_ < blocks_.size() && blocks_[block_].size() - used_ < bytes) {
    ++block_;
    used_ = 0;
  }
  if (block_ == blocks_.size()) {
    blocks_.emplace_back(memory_, std::max(bytes + bytes / 4, kSmallestBlock));
    used_ = 0;
  }
}

void Arena::leave(size_t block, size_t used) noexcept {
  block_ = block;
  used_ = used;
  if (--depth_ > 0 || blocks_.size() <= 1 || after_ == Blocks::kept) return;
  size_t total = 0;
  for (const Block& each : blocks_) total += each.size();
  blocks_.clear();
  block_ = 0;
  used_ = 0;
  try {
    blocks_.emplace_back(memory_, total);
  } catch (...) {
    // The next call begins with no block. It reports the failure if there is still no memory.
  }
}

size_t Arena::leak() noexcept {
  size_t total = 0;
  for (Block& each : blocks_) total += each.leak();
  blocks_.clear();
  block_ = 0;
  used_ = 0;
  return total;
}

}  // namespace sparsecoll
