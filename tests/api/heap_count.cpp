// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/heap_count.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "api/sanitizers.hpp"

namespace sparsecoll::unit {

namespace {
std::atomic<size_t> blocks{0};
std::atomic<size_t> bytes{0};
}  // namespace

HeapCount heap_count() { return {blocks, bytes}; }

}  // namespace sparsecoll::unit

#ifndef SPARSECOLL_TEST_SANITIZED

// glibc's documentation allows a program to replace these functions. They put a header in front of
// each block, so that free() knows its size.
extern "C" {
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* at);
}

namespace sparsecoll::unit {
namespace {

struct Header {
  uint64_t mark;
  size_t size;
  size_t offset;  ///< of the caller's bytes in glibc's block
  size_t unused;  ///< keeps the alignment of malloc()
};
constexpr uint64_t kMark = 0x68656170636f756e;

Header* header_of(void* at) { return static_cast<Header*>(at) - 1; }

void* allocate(size_t alignment, size_t size) {
  const size_t offset = alignment > sizeof(Header) ? alignment : sizeof(Header);
  auto* const block = size > SIZE_MAX - offset
                          ? nullptr
                          : static_cast<std::byte*>(__libc_memalign(offset, offset + size));
  if (!block) {
    errno = ENOMEM;
    return nullptr;
  }
  *header_of(block + offset) = {kMark, size, offset, 0};
  ++blocks;
  bytes += size;
  return block + offset;
}

void release(void* at) {
  if (!at) return;
  Header* const header = header_of(at);
  // Blocks of glibc's other functions have no header; what precedes them is glibc's own.
  if (header->mark != kMark) return __libc_free(at);
  header->mark = 0;
  --blocks;
  bytes -= header->size;
  __libc_free(static_cast<std::byte*>(at) - header->offset);
}

}  // namespace
}  // namespace sparsecoll::unit

using sparsecoll::unit::allocate;
using sparsecoll::unit::header_of;
using sparsecoll::unit::release;

extern "C" {

void* malloc(size_t size) { return allocate(alignof(max_align_t), size); }

void free(void* at) { release(at); }

void* calloc(size_t count, size_t size) {
  size_t product = 0;
  if (__builtin_mul_overflow(count, size, &product)) product = SIZE_MAX;
  void* const at = allocate(alignof(max_align_t), product);
  return at ? std::memset(at, 0, product) : nullptr;
}

void* realloc(void* old, size_t size) {
  void* const at = malloc(size);
  if (!at || !old) return at;
  const size_t kept = header_of(old)->size;
  std::memcpy(at, old, kept < size ? kept : size);
  free(old);
  return at;
}

void* reallocarray(void* old, size_t count, size_t size) {
  size_t product = 0;
  if (__builtin_mul_overflow(count, size, &product)) product = SIZE_MAX;
  return realloc(old, product);
}

void* memalign(size_t alignment, size_t size) { return allocate(alignment, size); }

void* aligned_alloc(size_t alignment, size_t size) { return allocate(alignment, size); }

int posix_memalign(void** at, size_t alignment, size_t size) {
  void* const block = allocate(alignment, size);
  if (block) *at = block;
  return block ? 0 : ENOMEM;
}

size_t malloc_usable_size(void* at) { return at ? header_of(at)->size : 0; }

}  // extern "C"

#endif
