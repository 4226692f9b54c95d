// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "heap.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>

namespace simt {

namespace {

constexpr size_t kHeap = size_t{1} << 30;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kBorder = 256;  // unused bytes behind every allocation
constexpr int kNobody = 0xcd;

void protect(void* at, int how) {
  if (mprotect(at, kHeap, how) != 0) std::abort();
}

}  // namespace

Heap::Heap() {
  size_t room = kHeap + kHugePage;
  void* at = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED || !std::align(kHugePage, kHeap, at, room)) std::abort();
  begin_ = static_cast<char*>(at);
  // The time of open() and close() grows with the number of pages. Without huge pages they are only
  // slower.
  madvise(begin_, kHeap, MADV_HUGEPAGE);
  free_[0] = kHeap;
}

void* Heap::allocate(size_t bytes) {
  if (bytes > kHeap) return nullptr;
  const size_t need = (bytes + kBorder + 255) / 256 * 256;
  const auto found = std::find_if(free_.begin(), free_.end(),
                                  [&](const auto& each) { return each.second >= need; });
  if (found == free_.end()) return nullptr;
  const auto [at, size] = *found;
  free_.erase(found);
  if (size > need) free_[at + need] = size - need;
  used_[at] = {need, bytes};
  open();
  check_untouched(at, std::min(at + need, ever_used_), "memory was written to after it was freed");
  if (at + need > ever_used_) {
    const size_t fresh = std::max(at, ever_used_);
    std::memset(begin_ + fresh, kNobody, at + need - fresh);
    ever_used_ = at + need;
  }
  close();
  return begin_ + at;
}

void Heap::release(void* pointer) {
  const auto used = used_.find(offset_of(pointer));
  if (used == used_.end()) {
    std::fprintf(stderr, "simt: cudaFree of what is not allocated\n");
    std::abort();
  }
  const auto [at, room] = *used;
  used_.erase(used);
  open();
  check_untouched(at + room.bytes, at + room.size, "a kernel wrote past an allocation");
  std::memset(begin_ + at, kNobody, room.size);
  close();
  const auto freed = free_.emplace(at, room.size).first;
  join_with_next(freed);
  if (freed != free_.begin()) join_with_next(std::prev(freed));
}

void Heap::join_with_next(std::map<size_t, size_t>::iterator at) {
  const auto next = std::next(at);
  if (next == free_.end() || at->first + at->second != next->first) return;
  at->second += next->second;
  free_.erase(next);
}

void Heap::open() {
  if (!std::exchange(open_, true)) protect(begin_, PROT_READ | PROT_WRITE);
}
void Heap::close() {
  if (std::exchange(open_, false)) protect(begin_, PROT_NONE);
}

size_t Heap::offset_of(const void* pointer) const {
  return static_cast<size_t>(reinterpret_cast<uintptr_t>(pointer) -
                             reinterpret_cast<uintptr_t>(begin_));
}

bool Heap::owns(const void* pointer) const { return offset_of(pointer) < kHeap; }

bool Heap::holds(const void* pointer, size_t bytes) const {
  const size_t at = offset_of(pointer);
  const auto after = used_.upper_bound(at);
  if (!owns(pointer) || after == used_.begin()) return false;
  const auto [begin, room] = *std::prev(after);
  return at - begin <= room.bytes && bytes <= room.bytes - (at - begin);
}

void Heap::check_untouched(size_t begin, size_t end, const char* complaint) const {
  for (size_t at = begin; at < end; ++at) {
    if (begin_[at] == static_cast<char>(kNobody)) continue;
    std::fprintf(stderr, "simt: %s\n", complaint);
    std::abort();
  }
}

}  // namespace simt
