// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/process_memory.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <numeric>
#include <optional>
#include <vector>

#include "support/catch.hpp"

namespace sparsecoll::unit {
namespace {

constexpr size_t kValues = 10000;

std::vector<int> numbers() {
  std::vector<int> values(kValues);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

bool read(const MemoryOffer& offer, std::span<int> to, size_t first = 0) {
  return read_offered(offer, first * sizeof(int), std::as_writable_bytes(to));
}

TEST_CASE("offered memory of this process is read until the offer ends") {
  const std::vector<int> values = numbers();
  std::vector<int> got(kValues);
  std::optional<OfferedMemory> memory(values.data());
  const MemoryOffer offer = memory->offer();
  CHECK(read(offer, got));
  CHECK(got == values);
  CHECK(read(offer, std::span(got).first(3), 5000));
  CHECK(got[2] == 5002);
  CHECK(read(offer, {}));
  memory.reset();
  CHECK(!read(offer, got));
}

TEST_CASE("groups of offered memory are read one after another until the offer ends") {
  const std::vector<int> values = numbers();
  std::optional<OfferedMemory> memory(values.data());
  const MemoryOffer offer = memory->offer();
  std::vector<size_t> begins;  // more than the system takes at once
  for (size_t g = 0; g < 3000; ++g) begins.push_back(g * 7919 % (kValues - 3));
  std::vector<int> got(begins.size() * 3);
  const auto read_groups = [&](const MemoryOffer& from) {
    return read_offered(from, begins, 3, sizeof(int), reinterpret_cast<std::byte*>(got.data()));
  };
  CHECK(read_groups(offer));
  bool same = true;
  for (size_t i = 0; i < got.size(); ++i)
    same = same && got[i] == static_cast<int>(begins[i / 3] + i % 3);
  CHECK(same);
  begins.clear();
  CHECK(read_groups(offer));
  begins.push_back(0);
  CHECK(!read_groups(MemoryOffer{}));
  memory.reset();
  CHECK(!read_groups(offer));
}

TEST_CASE("nothing is read without an offer, with another mark, or in a process that has ended") {
  const std::vector<int> values = numbers();
  std::vector<int> got(kValues);
  const OfferedMemory memory(values.data());
  CHECK(!read(MemoryOffer{}, got));
  MemoryOffer other = memory.offer();
  ++other.mark;
  CHECK(!read(other, got));
  const pid_t child = fork();
  if (child == 0) _exit(0);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  other = memory.offer();
  other.process = static_cast<uint64_t>(child);
  CHECK(!read(other, got));
}

TEST_CASE("memory that is no longer there is not read, and does no harm") {
  const size_t bytes = kValues * sizeof(int);
  void* const there = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(there != MAP_FAILED);
  const OfferedMemory memory(there);
  std::vector<int> got(kValues, 1);
  CHECK(read(memory.offer(), got));
  CHECK(got == std::vector<int>(kValues, 0));
  REQUIRE(munmap(there, bytes) == 0);
  CHECK(!read(memory.offer(), got));
}

TEST_CASE("a child reads memory of its parent") {
  const std::vector<int> values = numbers();
  const OfferedMemory memory(values.data());
  const pid_t child = fork();
  if (child == 0) {
    // Pages that the fork copies are the same: the number shows that the parent's are read.
    std::vector<int> got(kValues);
    const bool right = memory.offer().process == static_cast<uint64_t>(getppid()) &&
                       read(memory.offer(), got) && got == values;
    _exit(right ? 0 : 1);
  }
  int status = 1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace sparsecoll::unit
