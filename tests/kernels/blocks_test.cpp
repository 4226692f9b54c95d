// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Kernels of blocks on the host: messages and what is wrong with them, and sums. Tests of the verbs
// (verbs/blocks_test.cpp) compare all other results.

#include <cstring>

#include "kernels/messages.hpp"
#include "kernels/wire.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"

namespace sparsecoll::unit {
namespace {

/// Kernels of float with blocks of one size.
class BlockKernels {
 public:
  explicit BlockKernels(size_t block_size)
      : kernels_(make_plain_kernels(DataType::float32, IndexType::index32, arena_, block_size)) {}
  Kernels* operator->() { return &kernels_; }

  /// Returns a vector with these indices. All values differ.
  SparseSpan put(const std::vector<uint32_t>& indices, float first) {
    const SparseBuffer buffer = kernels_.sparse(indices.size());
    std::copy(indices.begin(), indices.end(), static_cast<uint32_t*>(buffer.index));
    for (size_t j = 0; j < indices.size() * kernels_.block_size(); ++j)
      static_cast<float*>(buffer.value)[j] = first + static_cast<float>(j);
    *buffer.nnz = indices.size();
    return buffer.span();
  }
  std::vector<uint32_t> indices_of(const SparseBuffer& buffer) const {
    const auto* const at = static_cast<const uint32_t*>(buffer.index);
    return {at, at + *buffer.nnz};
  }
  std::vector<float> values_of(const SparseBuffer& buffer) const {
    const auto* const at = static_cast<const float*>(buffer.value);
    return {at, at + *buffer.nnz * kernels_.block_size()};
  }
  MessageBytes pack(const SparseSpan& in, const Region& region) {
    const Packets packets = kernels_.packets(in.nnz.bound, {&region, 1});
    kernels_.pack_all(in, {&region, 1}, packets);
    kernels_.wait_packed(packets.slab + packets.capacity);
    const std::byte* const at = packets.slab + packets.offset[0];
    return {at, at + packets.size[0]};
  }
  /// Unpacks a message into `out`, which has room for what it claims to have. Returns whether it is
  /// sound.
  bool unpack(const MessageBytes& message, const Region& region, SparseBuffer& out) {
    const Message one{message, region};
    size_t entries = 0;
    kernels_.count_entries({&one, 1}, &entries);
    out = kernels_.sparse(entries);
    uint64_t faults = 0;
    kernels_.unpack_all({&one, 1}, {&out, 1}, &faults);
    return faults == 0;
  }

 private:
  Memory memory_;
  Arena arena_{memory_};
  const Arena::Scope scope_{arena_};
  Kernels& kernels_;
};

const std::vector<uint32_t> kIndices{7, 8, 1000, 4321, 99999};
constexpr Region kRegion{7, 100000};

TEST_CASE("a message of blocks has one index for each, and all values") {
  for (const size_t block : {2, 3, 8, 9, 64}) {
    BlockKernels kernels(block);
    const SparseSpan in = kernels.put(kIndices, 0.5f);
    const MessageBytes message = kernels.pack(in, kRegion);
    CHECK(message.size() == wire_bytes(Representation::coded,
                                       {kIndices.size(), kRegion.length(), block * sizeof(float)}));
    SparseBuffer out;
    CHECK(kernels.unpack(message, kRegion, out));
    CHECK(kernels.indices_of(out) == kIndices);
    const std::vector<float> values = kernels.values_of(out);
    CHECK(std::memcmp(values.data(), in.value, values.size() * sizeof(float)) == 0);
    const Message one{message, kRegion};
    const void* const in_place = kernels->values_in(one);
    REQUIRE(in_place);
    CHECK(std::memcmp(in_place, in.value, values.size() * sizeof(float)) == 0);
    const auto part = kernels->slice(in, {8, 4321});
    REQUIRE(part);
    CHECK(*part->nnz.at == 2);
    CHECK(static_cast<const float*>(part->value) == static_cast<const float*>(in.value) + block);
  }
}

TEST_CASE("messages of blocks that were cut or changed are refused") {
  BlockKernels kernels(3);
  const MessageBytes good = kernels.pack(kernels.put(kIndices, 0.5f), kRegion);
  for (size_t size = 0; size < good.size(); ++size) {
    SparseBuffer out;
    MessageBytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK_FALSE(kernels.unpack(cut, kRegion, out));
    CHECK(*out.nnz == 0);
  }
  SparseBuffer out;
  CHECK_FALSE(BlockKernels(4).unpack(good, kRegion, out));  // too short for blocks of four
  for (const size_t block : {size_t{2}, size_t{64}, size_t{1} << 40, size_t{1} << 59}) {
    BlockKernels large(block);
    for (int representation = 1; representation <= 3; ++representation) {
      for (const uint64_t length :
           {uint64_t{5}, uint64_t{1} << 32, ~uint64_t{0} / 4, ~uint64_t{0}}) {
        for (const uint64_t nnz : {uint64_t{5}, length / 2, length}) {
          const WireHeader header{
              kWireMagic, kWireVersion, static_cast<uint8_t>(representation), 7, 0, nnz, length};
          MessageBytes message(64);
          std::memcpy(message.data(), &header, sizeof header);
          CHECK(wire_entries(message, DataType::float32, {length, block}) <=
                message.size() / sizeof(float) / block);
        }
      }
    }
  }
}

TEST_CASE("a sum of blocks takes the inputs in their order, whatever their number") {
  for (const size_t block : {2, 7, 8, 33}) {
    for (const size_t inputs : {0, 1, 2, 3, 10, 40}) {
      BlockKernels kernels(block);
      std::vector<SparseSpan> spans;
      std::vector<float> want;
      std::vector<uint32_t> indices;
      std::vector<std::vector<uint32_t>> index_of(inputs);
      for (size_t p = 0; p < inputs; ++p) {
        for (uint32_t i = 0; i < 50; ++i)
          if (test::noise(7, p, i) % 3 == 0 && p % 5 != 4) index_of[p].push_back(i);
        spans.push_back(kernels.put(index_of[p], 0.1f * static_cast<float>(p + 1)));
      }
      for (uint32_t i = 0; i < 50; ++i) {
        bool found = false;
        for (size_t p = 0; p < inputs; ++p) {
          const auto at = std::ranges::find(index_of[p], i);
          if (at == index_of[p].end()) continue;
          const auto* const values = static_cast<const float*>(spans[p].value) +
                                     static_cast<size_t>(at - index_of[p].begin()) * block;
          if (!found) want.insert(want.end(), values, values + block);
          for (size_t j = 0; found && j < block; ++j) want[want.size() - block + j] += values[j];
          found = true;
        }
        if (found) indices.push_back(i);
      }
      const SparseBuffer sum = kernels->sparse(indices.size());
      kernels->merge(spans, sum);
      CHECK(kernels.indices_of(sum) == indices);
      CHECK(kernels.values_of(sum) == want);
    }
  }
}

}  // namespace
}  // namespace sparsecoll::unit
