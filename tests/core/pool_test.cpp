// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of pools: blocks are reused, even by other threads.

#include <cstring>
#include <thread>

#include "core/memory.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"

namespace sparsecoll::unit {
namespace {

TEST_CASE("a pool reuses its blocks") {
  Memory memory;
  {
    Pool pool(memory);
    for (int round = 0; round < 20; ++round) {
      std::vector<Buffer> held;
      for (const size_t size : {size_t{0}, size_t{1}, size_t{300}, size_t{5000}, size_t{70000}}) {
        held.push_back(pool.take(size));
        CHECK(held.back().size() == size);
        CHECK(held.back().capacity() >= size);
        if (size > 0) std::memset(held.back().data(), round, size);
      }
      CHECK(memory.allocations() == 5);
    }
    Buffer a = pool.take(10);
    Buffer b = std::move(a);
    b = pool.take(20);  // returns the first block
    CHECK(memory.allocations() == 5);
  }
  CHECK(memory.bytes_in_use() == 0);
}

TEST_CASE("a pool reuses a block for sizes two or three classes smaller, and blocks have slack") {
  Memory memory;
  Pool pool(memory);
  { const Buffer cache = pool.take(16000); }
  for (const size_t size : {size_t{4800}, size_t{16000}, size_t{19200}}) pool.take(size);
  CHECK(memory.allocations() == 1);
  const Buffer tiny = pool.take(10);  // does not take the large block
  CHECK(memory.allocations() == 2);
  const Buffer still = pool.take(16000);
  CHECK(memory.allocations() == 2);
}

TEST_CASE("a pool takes large blocks from another memory after take_large_from()") {
  Memory memory;
  const auto large = std::make_shared<Memory>();
  {
    Pool pool(memory);
    Buffer lent = pool.take(100000);
    { const Buffer free = pool.take(100000); }
    const size_t before = memory.bytes_in_use();
    pool.take_large_from(large);
    CHECK(memory.bytes_in_use() < before);  // the free block was released
    { const Buffer a = pool.take(100000), b = pool.take(1000); }
    CHECK(large->allocations() == 1);
    lent = Buffer();
    CHECK(memory.bytes_in_use() < 20000);  // the block on loan was released, too
    { const Buffer a = pool.take(100000), b = pool.take(1000); }
    CHECK(large->allocations() == 1);
    const Buffer c = pool.take(100000);
    pool.reserve(c, 3);
    CHECK(large->allocations() == 3);
    CHECK(large.use_count() == 2);
  }
  CHECK(memory.bytes_in_use() == 0);
  CHECK(large->bytes_in_use() == 0);
}

TEST_CASE("reserve() makes blocks for a total number of messages, including those in use") {
  Memory memory;
  Pool pool(memory);
  Buffer first = pool.take(1000);
  pool.reserve(first, 4);
  CHECK(memory.allocations() == 4);
  pool.reserve(first, 4);
  pool.reserve(first, 2);
  CHECK(memory.allocations() == 4);
  {
    const Buffer b = pool.take(1000), c = pool.take(1000), d = pool.take(1000);
    CHECK(memory.allocations() == 4);
  }
  memory.fail_at(2);
  CHECK_THROWS_AS(pool.reserve(first, 8), std::bad_alloc);
  memory.fail_at(0);
  pool.reserve(first, 5);  // one was allocated before the failure
  CHECK(memory.allocations() == 6);
  memory.fail_at(1);
  CHECK_THROWS_AS(pool.take(1 << 20), std::bad_alloc);
  const Buffer other = pool.take(1 << 20);
  CHECK(other.size() == 1 << 20);
}

TEST_CASE(
    "a fitting block is hardly larger than its message, and is reused for such messages only") {
  Memory memory;
  Pool pool(memory);
  for (int round = 0; round < 3; ++round) {
    const Buffer tiny = pool.take_fitting(10), small = pool.take_fitting(300);
    const Buffer large = pool.take_fitting(2500);
    CHECK(tiny.capacity() == 256);
    CHECK(small.capacity() == 512);
    CHECK(large.capacity() == 4096);
    CHECK(memory.allocations() == 3);
  }
  const Buffer any = pool.take(10);  // as for any other small message
  CHECK(any.capacity() == 4096);
  CHECK(memory.allocations() == 3);
}

TEST_CASE("the more peers there are, the smaller are the blocks of small messages") {
  Memory memory;
  Pool pool(memory);
  pool.set_peers(64);
  CHECK(pool.take(100).capacity() == 4096);
  pool.set_peers(1024);
  const Buffer old = pool.take(100);  // the free block fits, too
  CHECK(old.capacity() == 4096);
  CHECK(memory.allocations() == 1);
  const Buffer tiny = pool.take(100), small = pool.take(300), large = pool.take(5000);
  CHECK(tiny.capacity() == 256);
  CHECK(small.capacity() == 512);
  CHECK(large.capacity() == 8192);
  CHECK(memory.allocations() == 4);
  pool.reserve(tiny, 3, 2);  // four blocks of 256 bytes, and one more for longer small messages
  CHECK(memory.allocations() == 9);
  const Buffer longer = pool.take(3000);
  CHECK(longer.capacity() == 4096);
  CHECK(memory.allocations() == 9);
}

TEST_CASE("a pool serves several threads") {
  Memory memory;
  Pool pool(memory);
  std::vector<std::thread> threads;
  std::atomic<int> overwritten{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 2000; ++i) {
        Buffer a = pool.take(test::noise(1, i, t) % 3000), b = pool.take(500);
        std::memset(a.data(), t, a.size());
        std::memset(b.data(), t + 4, b.size());
        for (size_t j = 0; j < a.size(); ++j)
          overwritten += a.data()[j] != static_cast<std::byte>(t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(overwritten == 0);
}

}  // namespace
}  // namespace sparsecoll::unit
