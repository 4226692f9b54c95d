// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Checksums and hashes change with every input that they cover.

#include "core/checksum.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "calls/descriptor.hpp"
#include "core/checksum_simd.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"

namespace sparsecoll::unit {
namespace {

std::vector<std::byte> random_bytes(size_t size, uint64_t seed) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(test::noise(seed, i));
  return bytes;
}

TEST_CASE("every bit of a buffer changes the checksum") {
  for (const size_t size : {1, 2, 7, 8, 9, 15, 16, 17, 64, 1000}) {
    for (const bool zeros : {false, true}) {
      std::vector<std::byte> bytes =
          zeros ? std::vector<std::byte>(size) : random_bytes(size, size);
      std::set<uint64_t> sums{checksum(bytes)};
      for (size_t bit = 0; bit < 8 * size; ++bit) {
        bytes[bit / 8] ^= std::byte{1} << (bit % 8);
        sums.insert(checksum(bytes));
        bytes[bit / 8] ^= std::byte{1} << (bit % 8);
      }
      CHECK(sums.size() == 8 * size + 1);  // all checksums differ from one another
    }
  }
}

TEST_CASE("the length changes the checksum, even if only zeros are appended") {
  std::set<uint64_t> sums;
  for (size_t size = 0; size <= 100; ++size) sums.insert(checksum(std::vector<std::byte>(size)));
  CHECK(sums.size() == 101);
}

TEST_CASE("the position of a word changes the checksum") {
  std::vector<std::byte> bytes = random_bytes(800, 3);
  const uint64_t before = checksum(bytes);
  for (size_t a = 0; a < 100; ++a) {
    for (size_t b = a + 1; b < 100; ++b) {
      std::swap_ranges(&bytes[8 * a], &bytes[8 * a] + 8, &bytes[8 * b]);
      if (checksum(bytes) == before) FAIL("words " << a << " and " << b);
      std::swap_ranges(&bytes[8 * a], &bytes[8 * a] + 8, &bytes[8 * b]);
    }
  }
  std::rotate(bytes.begin(), bytes.begin() + 8, bytes.end());
  CHECK(checksum(bytes) != before);
}

TEST_CASE("a checksum does not depend on the buffer's address") {
  const std::vector<std::byte> bytes = random_bytes(123, 4);
  for (size_t shift = 0; shift < 16; ++shift) {
    std::vector<std::byte> shifted(shift + bytes.size());
    std::copy(bytes.begin(), bytes.end(), &shifted[shift]);
    CHECK(checksum(ConstBytes(shifted).subspan(shift)) == checksum(bytes));
  }
}

TEST_CASE("a checksum equals its definition, with any vector instructions") {
  for (size_t size = 0; size < 300; ++size) {
    const std::vector<std::byte> bytes = random_bytes(size, 6);
    for (const size_t first : {size_t{0}, size_t{8}, size_t{1} << 40}) {
      uint64_t expected = 0, position_key = first / 8 * kPositionStep;
      for (size_t at = 0; at < size; at += 8) {
        uint64_t word = 0;
        for (size_t i = at; i < std::min(at + 8, size); ++i)
          word |= std::to_integer<uint64_t>(bytes[i]) << (8 * (i - at));
        expected += mix(word ^ (position_key += kPositionStep));
      }
      CHECK(checksum_of_chunk(bytes, first) == expected);
      if (size % 8 == 0) {
        const uint64_t position = first / 8 * kPositionStep;
        CHECK(mixed_words(bytes.data(), size / 8, position) == expected);
#ifdef __x86_64__
        if (__builtin_cpu_supports("avx2"))
          CHECK(mixed_words_avx2(bytes.data(), size / 8, position) == expected);
#endif
      }
    }
  }
}

TEST_CASE("the hash of a call depends on the verb and on every argument") {
  std::set<uint64_t> hashes;
  for (uint64_t verb = 1; verb <= 6; ++verb) {
    for (size_t argument = 0; argument < Descriptor::kArguments; ++argument) {
      for (const uint64_t value : {uint64_t{1}, uint64_t{2}, uint64_t{1} << 63, ~uint64_t{0}}) {
        Descriptor descriptor;
        descriptor.verb = verb;
        descriptor.argument[argument] = value;
        hashes.insert(descriptor.hash());
      }
    }
  }
  CHECK(hashes.size() == 6 * Descriptor::kArguments * 4);
}

Descriptor describe(Verb verb) {
  Descriptor descriptor;
  descriptor.verb = static_cast<uint64_t>(verb);
  return descriptor;
}

std::string difference_in(Verb verb, size_t argument, uint64_t mine, uint64_t theirs) {
  Descriptor own = describe(verb), other = describe(verb);
  own.argument[argument] = mine;
  other.argument[argument] = theirs;
  CHECK((own == other) == (mine == theirs));
  return difference(own, other, 3);
}

TEST_CASE("differences between calls are described with the names of the API") {
  const Verb verb = Verb::sparse_allreduce;
  CHECK(difference_in(verb, kCount, 5, 5) == "");
  CHECK(difference_in(verb, kCount, 1000, 1001) ==
        "count: this rank passed 1000, rank 3 passed 1001");
  CHECK(difference_in(verb, kK, 10, 11) == "k: this rank passed 10, rank 3 passed 11");
  CHECK(difference_in(Verb::gtopk_allreducev, kK, ~uint64_t{0}, 1) ==
        "k: this rank passed SPARSECOLL_ALL, rank 3 passed 1");
  CHECK(difference_in(verb, kDataType, 7, 8) ==
        "datatype: this rank passed sparsecollFloat32, rank 3 passed sparsecollFloat64");
  CHECK(difference_in(verb, kDataType, 6, 9) ==
        "datatype: this rank passed sparsecollFloat16, rank 3 passed sparsecollBfloat16");
  CHECK(difference_in(verb, kDataType, 2, 4) ==
        "datatype: this rank passed sparsecollInt32, rank 3 passed sparsecollInt64");
  CHECK(difference_in(verb, kDataType, 7, 5) ==
        "datatype: this rank passed sparsecollFloat32, rank 3 passed 5");
  CHECK(difference_in(verb, kDataType, ~uint64_t{0}, 1 << 20) ==
        "datatype: this rank passed 18446744073709551615, rank 3 passed 1048576");
  CHECK(difference_in(verb, kOp, 4, 0) ==
        "op: this rank passed sparsecollAvg, rank 3 passed sparsecollSum");
  CHECK(difference_in(Verb::sparse_allreducev, kIndexType, 0, 1) ==
        "indexType: this rank passed sparsecollIndex32, rank 3 passed sparsecollIndex64");
  CHECK(difference_in(Verb::init, kTimeoutMs, 100, 200) ==
        "timeoutMs (SPARSECOLL_TIMEOUT_MS): this rank passed 100, rank 3 passed 200");
  CHECK(difference_in(Verb::init, kCheck, 0, 1) ==
        "SPARSECOLL_CHECK: this rank passed 0, rank 3 passed 1");
}

TEST_CASE("every argument of init has a name of its own") {
  std::set<std::string> names;
  for (size_t argument = kVersion; argument <= kCheck; ++argument)
    names.insert(difference_in(Verb::init, argument, 0, 1));
  CHECK(names.size() == kCheck + 1);
  CHECK(names.count("") == 0);
}

TEST_CASE(
    "a different function is reported before arguments, and of these the first that differs") {
  Descriptor own = describe(Verb::sparse_allreduce), other = describe(Verb::gtopk_allreducev);
  other.argument.fill(9);
  CHECK(difference(own, other, 0) ==
        "function: this rank called sparseAllreduce, rank 0 called gtopkAllreducev");
  CHECK(difference(describe(Verb::destroy), describe(Verb::sparse_allreducev), 1) ==
        "function: this rank called sparsecollCommDestroy, rank 1 called sparseAllreducev");
  other.verb = own.verb;
  CHECK(difference(own, other, 0) == "count: this rank passed 0, rank 0 passed 9");
}

TEST_CASE("a checksum is the sum of the checksums of its parts") {
  std::vector<std::byte> bytes(203);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 11);
  const ConstBytes all = bytes;
  for (size_t part = 8; part < 240; part += 8) {
    uint64_t sum = mix(all.size());
    for (size_t at = 0; at < all.size(); at += part)
      sum += checksum_of_chunk(all.subspan(at, std::min(part, all.size() - at)), at);
    CHECK(sum == checksum(all));
  }
}

}  // namespace
}  // namespace sparsecoll::unit
