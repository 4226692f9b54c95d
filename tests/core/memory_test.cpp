// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of memory that is counted, and of arenas, which free their allocations by scope.

#include <cstdlib>
#include <cstring>

#include "api/sanitizers.hpp"
#include "core/arena.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"

namespace sparsecoll::unit {
namespace {

TEST_CASE("memory is aligned and counted") {
  Memory memory;
  {
    const Block small(memory, 1), none(memory, 0), large(memory, 100000);
    for (const Block* block : {&small, &none, &large}) {
      CHECK(reinterpret_cast<uintptr_t>(block->data()) % kAlignment == 0);
      if (block->size() > 0) std::memset(block->data(), 1, block->size());
    }
    CHECK(memory.allocations() == 3);
    CHECK(memory.bytes_in_use() == 100001);
  }
  CHECK(memory.bytes_in_use() == 0);
  CHECK(memory.allocations() == 3);
}

TEST_CASE("blocks that get huge pages are usable to their last byte") {
  Memory memory;
  for (const size_t bytes : {kHugeBlock - 1, kHugeBlock, kHugeBlock + 12345}) {
    const Block block(memory, bytes);
    CHECK(reinterpret_cast<uintptr_t>(block.data()) % 4096 == 0);
    std::memset(block.data(), 7, bytes);
    CHECK(block.data()[bytes - 1] == std::byte{7});
  }
}

TEST_CASE("sizes near the maximum are refused and do not overflow") {
  Memory memory;
  Arena arena(memory);
  const Arena::Scope scope(arena);
  CHECK_THROWS_AS(Block(memory, kAll), std::bad_alloc);
  CHECK_THROWS_AS(Block(memory, kAll - 1), std::bad_alloc);
  CHECK_THROWS_AS(arena.take<std::byte>(kAll), std::bad_alloc);
  CHECK_THROWS_AS(arena.take<uint64_t>(kAll / 4), std::bad_alloc);
  CHECK_THROWS_AS(arena.take<uint64_t>(kAll / 8 + 2), std::bad_alloc);
  if (!kSanitized) {  // the allocator of a sanitizer ends the program
    CHECK_THROWS_AS(Block(memory, kAll / 2), std::bad_alloc);
    CHECK_THROWS_AS(arena.take<std::byte>(kAll / 2), std::bad_alloc);
  }
  CHECK(memory.bytes_in_use() == 0);
  CHECK(arena.take<std::byte>(10) != nullptr);
}

TEST_CASE("fail_at(n) makes only the n-th allocation fail") {
  Memory memory;
  memory.fail_at(3);
  const Block first(memory, 10), second(memory, 10);
  CHECK_THROWS_AS(Block(memory, 10), std::bad_alloc);
  const Block fourth(memory, 10);
  CHECK(memory.bytes_in_use() == 30);
  memory.fail_at(1);
  memory.fail_at(0);
  CHECK(Block(memory, 10).data() != nullptr);
}

TEST_CASE("a block has one owner, and leaked memory is not freed") {
  Memory memory;
  Block a(memory, 100);
  std::byte* const at = a.data();
  Block b(std::move(a));
  CHECK(b.data() == at);
  Block c(memory, 50);
  c = std::move(b);
  CHECK(c.data() == at);
  CHECK(memory.bytes_in_use() == 100);
  CHECK(c.leak() == 100);
  CHECK(c.data() == nullptr);
  CHECK(c.leak() == 0);
  c = Block();
  at[99] = std::byte{1};  // not freed
  CHECK(memory.bytes_in_use() == 100);
  memory.release(at, 100);
}

/// Makes allocations of these sizes, fills each with its number, and checks that no allocation
/// overwrites another.
void take_and_check(Arena& arena, const std::vector<size_t>& sizes) {
  std::vector<std::byte*> allocations;
  for (size_t i = 0; i < sizes.size(); ++i) {
    std::byte* at = arena.take<std::byte>(sizes[i]);
    CHECK(reinterpret_cast<uintptr_t>(at) % kAlignment == 0);
    std::memset(at, static_cast<int>(i), sizes[i]);
    allocations.push_back(at);
  }
  for (size_t i = 0; i < sizes.size(); ++i)
    for (size_t j = 0; j < sizes[i]; ++j)
      if (allocations[i][j] != static_cast<std::byte>(i))
        FAIL("allocation " << i << " was overwritten");
}

const std::vector<size_t> kSizes{1, 0, 64, 65, 1000, 70000, 3, 200000, 10, 65536, 300000, 7};

TEST_CASE("allocations of an arena do not overlap, even if it grows") {
  Memory memory;
  Arena arena(memory);
  for (int round = 0; round < 3; ++round) {
    const Arena::Scope scope(arena);
    take_and_check(arena, kSizes);
    {
      const Arena::Scope inner(arena);
      take_and_check(arena, kSizes);
    }
    take_and_check(arena, kSizes);
  }
}

TEST_CASE("an inner scope frees its own allocations and no others") {
  Memory memory;
  Arena arena(memory);
  const Arena::Scope scope(arena);
  const auto outer = arena.take_span<uint64_t>(1000, 7);
  std::byte* again = nullptr;
  for (int round = 0; round < 3; ++round) {
    const Arena::Scope inner(arena);
    std::byte* at = arena.take<std::byte>(100);
    if (round > 0) CHECK(at == again);
    again = at;
    arena.take_span<uint64_t>(100000, 9);  // needs another block
  }
  for (const uint64_t value : outer) REQUIRE(value == 7);
  CHECK(arena.take<std::byte>(100) == again);
}

TEST_CASE("a repeated pattern allocates once, then joins its blocks, and then allocates no more") {
  Memory memory;
  Arena arena(memory);
  for (int round = 0; round < 50; ++round) {
    const size_t before = memory.allocations();
    {
      const Arena::Scope scope(arena);
      for (const size_t size : kSizes) arena.take<std::byte>(size);
    }
    if (round > 0) CHECK(memory.allocations() == before);
  }
  const size_t in_use = memory.bytes_in_use();
  CHECK(in_use >= 636687);   // the sum of kSizes
  CHECK(in_use <= 1300000);  // the blocks are joined
}

TEST_CASE("blocks are joined when the outermost scope ends, not before") {
  Memory memory;
  Arena arena(memory);
  const auto take = [&arena](size_t allocations, size_t size) {
    const Arena::Scope inner(arena);
    for (size_t i = 0; i < allocations; ++i) arena.take<std::byte>(size);
  };
  {
    const Arena::Scope scope(arena);
    take(4, 100000);
  }
  CHECK(memory.allocations() == 5);
  take(1, 400000);  // as large as the four allocations
  CHECK(memory.allocations() == 5);
}

TEST_CASE("an arena has slack: a pattern that is a little larger does not allocate") {
  Memory memory;
  Arena arena(memory);
  for (const size_t size : {size_t{200000}, size_t{220000}, size_t{240000}}) {
    const Arena::Scope scope(arena);
    arena.take<std::byte>(size);
  }
  CHECK(memory.allocations() == 1);
}

TEST_CASE("an arena can be used after an allocation failed") {
  Memory memory;
  Arena arena(memory);
  for (int round = 0; round < 2; ++round) {
    const Arena::Scope scope(arena);
    arena.take<std::byte>(1000);
    memory.fail_at(1);
    if (round == 0) CHECK_THROWS_AS(arena.take<std::byte>(100000), std::bad_alloc);
    memory.fail_at(0);
    take_and_check(arena, kSizes);
    memory.fail_at(1);  // the allocation that joins the blocks
  }
  memory.fail_at(0);
  const Arena::Scope scope(arena);
  take_and_check(arena, kSizes);
}

TEST_CASE("leaked memory of an arena stays valid, and the arena takes new memory") {
  Memory memory;
  Arena arena(memory);
  uint64_t* at = nullptr;
  {
    const Arena::Scope scope(arena);
    at = arena.take_span<uint64_t>(10, 42).data();
  }
  const size_t bytes = memory.bytes_in_use();
  std::byte* const block = reinterpret_cast<std::byte*>(at);
  CHECK(arena.leak() == bytes);
  {
    const Arena::Scope scope(arena);
    CHECK(arena.take<std::byte>(10) != block);
  }
  CHECK(at[9] == 42);
  memory.release(block, bytes);
}

/// Memory whose allocations fail, as those of a device after a failed kernel.
class BrokenMemory final : public Memory {
 public:
  bool broken = false;

 private:
  void* obtain(size_t bytes) override {
    if (broken) fail(sparsecollUnhandledCudaError, "an earlier kernel failed");
    return std::aligned_alloc(kAlignment, bytes);
  }
};

TEST_CASE("the end of a scope does not throw, even if memory fails") {
  BrokenMemory memory;
  Arena arena(memory);
  {
    const Arena::Scope scope(arena);
    arena.take<std::byte>(size_t{1} << 16);
    arena.take<std::byte>(size_t{1} << 17);
    memory.broken = true;
  }
  CHECK_THROWS_AS(arena.take<std::byte>(size_t{1} << 20), Error);
  memory.broken = false;
  CHECK(arena.take<std::byte>(size_t{1} << 20) != nullptr);
}

}  // namespace
}  // namespace sparsecoll::unit
