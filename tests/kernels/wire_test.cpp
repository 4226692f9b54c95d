// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests the wire format: unpacking restores the packed entries, and messages have the smallest
// representation, stay within their bound, and have the bytes that the description of the format
// gives.

#include <cstring>

#include "kernels/messages.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/data.hpp"

namespace sparsecoll::unit {
namespace {

using test::noise;

/// Returns the bits of coded indices with `low` low bits each, by the description of the format.
uint64_t coded_bits(uint64_t nnz, uint64_t length, int low) {
  return nnz == 0 ? 0 : nnz * static_cast<uint64_t>(low) + nnz + ((length - 1) >> low);
}

/// Returns the number of low bits that gives the fewest bits, the smallest on a tie. Tries the
/// numbers for which nothing overflows.
int best_low(uint64_t nnz, uint64_t length) {
  int best = 63;
  for (int low = 63; low >= 0 && (length - 1) >> low < uint64_t{1} << 62; --low)
    if (coded_bits(nnz, length, low) <= coded_bits(nnz, length, best)) best = low;
  return best;
}

/// Returns the bytes of a message, by the description of the format.
uint64_t smallest_size(uint64_t nnz, uint64_t length, uint64_t value_size) {
  const auto words = [](uint64_t bits) { return bits / 64 + (bits % 64 != 0); };
  const uint64_t coded = nnz == 0 ? 0 : words(coded_bits(nnz, length, best_low(nnz, length)));
  const uint64_t index = nnz == length ? 0 : std::min(coded, words(length));
  return 24 + 8 * index + nnz * value_size;
}

/// Returns entries that lie evenly, or in clusters with nothing between them.
Entries<float> many_entries(const Region& region, uint64_t nnz, bool clusters) {
  const uint64_t share = region.length() / nnz;
  Entries<float> entries;
  for (uint64_t j = 0; j < nnz; ++j) {
    const uint64_t first = clusters ? j / 64 * 64 * share + j % 64 : j * share;
    const uint64_t at = clusters ? first : first + noise(nnz, j) % share;
    entries.push_back({region.begin + at, static_cast<float>(j)});
  }
  return entries;
}

/// Checks that the loops of all levels, and the plain ones, write the same message and read it.
std::string check_other_loops(const MessageBytes& message, const Entries<float>& entries,
                              const Region& region) {
  best_loops() = !best_loops();
  const MessageBytes other = pack<float, uint32_t>(entries, {region})[0];
  const Unpacked<float> back = unpack<float, uint32_t>(message, region);
  best_loops() = !best_loops();
  if (other != message) return "other bytes";
  return back.faults > 0 ? "a fault" : test::difference("entries", back.entries, entries);
}

TEST_CASE("coded indices with any number of low bits come back, up to the last of 32 bits") {
  for (unsigned low = 0; low <= 19; ++low) {
    for (const uint64_t nnz : {uint64_t{300}, uint64_t{1000}, uint64_t{2049}, uint64_t{30000}}) {
      if (nnz << low > uint64_t{1} << 31) continue;
      const uint64_t length = low == 0 ? nnz * 2 : (nnz << low) * 3 / 2;
      for (const uint64_t begin : {uint64_t{0}, (uint64_t{1} << 32) - length}) {
        const Region region{begin, begin + length};
        for (const bool clusters : {false, true}) {
          INFO("low bits " << low << ", nnz " << nnz << ", from " << begin);
          const Entries<float> entries = many_entries(region, nnz, clusters);
          const MessageBytes message = pack<float, uint32_t>(entries, {region})[0];
          const Unpacked<float> back = unpack<float, uint32_t>(message, region);
          CHECK(back.faults == 0);
          CHECK(test::difference("entries", back.entries, entries) == "");
          CHECK(check_other_loops(message, entries, region) == "");
        }
      }
    }
  }
}

template <class T, class I>
std::string check_round_trip(const WireCase& shape) {
  const Entries<T> entries = entries_of<T>(shape, 1);
  const MessageBytes message = pack<T, I>(entries, {shape.region})[0];
  WireHeader header;
  if (!wire_header(message, Backend<T, I>::kData, shape.region.length(), &header))
    return "the header is unsound";
  if (header.representation != static_cast<uint8_t>(shape.expected))
    return "representation " + std::to_string(header.representation);
  if (message.size() != smallest_size(shape.nnz, shape.region.length(), sizeof(T)))
    return "size " + std::to_string(message.size());
  if (wire_entries(message, Backend<T, I>::kData, shape.region.length()) != shape.nnz)
    return "wire_entries() is wrong";
  MessageBytes longer(message);
  longer.resize(message.size() + 40);  // messages of fixed size are as long as the longest
  for (const MessageBytes& bytes : {message, longer}) {
    const Unpacked<T> back = unpack<T, I>(bytes, shape.region);
    if (back.faults != 0) return "refused";
    const std::string differs = test::difference("entries", back.entries, entries);
    if (!differs.empty()) return differs;
  }
  return "";
}

TEST_CASE("every representation survives the round trip, and the smallest is chosen") {
  for (const WireCase& shape : wire_cases()) {
    INFO(shape.name);
    CHECK(check_round_trip<float, uint64_t>(shape) == "");
    CHECK(check_round_trip<double, uint64_t>(shape) == "");
    if (shape.wide) continue;
    CHECK(check_round_trip<float, uint32_t>(shape) == "");
    CHECK(check_round_trip<double, uint32_t>(shape) == "");
  }
}

TEST_CASE("a dense vector is packed and unpacked without indices") {
  const std::vector<double> values{1, -2, 0, -0.0, 5.5, 6, 7};
  Backend<double, uint32_t> backend;
  const std::vector<Region> regions{{0, 3}, {3, 3}, {3, 7}};
  const Packets packets = backend.kernels().packets(values.size(), regions);
  backend.kernels().pack_all(backend.put_dense(values), regions, packets);
  backend.kernels().wait_packed(packets.slab + packets.capacity);
  for (size_t p = 0; p < regions.size(); ++p) {
    const std::byte* at = packets.slab + packets.offset[p];
    const MessageBytes message(at, at + packets.size[p]);
    CHECK(message.size() == 24 + 8 * regions[p].length());
    const Unpacked<double> back = unpack_dense<double>(message, regions[p]);
    CHECK(back.faults == 0);
    REQUIRE(back.entries.size() == regions[p].length());
    for (size_t j = 0; j < regions[p].length(); ++j)
      CHECK(test::bits(back.entries[j].value) == test::bits(values[regions[p].begin + j]));
  }
}

TEST_CASE("a dense vector is unpacked from a dense message only") {
  const Region region{0, 100};
  const MessageBytes sparse = pack<float, uint32_t>({{3, 1.0f}, {99, 2.0f}}, {region})[0];
  const Unpacked<float> back = unpack_dense<float>(sparse, region);
  CHECK(back.faults == 1);
  CHECK(back.entries.empty());
}

struct Hex {
  std::string digits;
  /// Blanks in the expected text are for the reader.
  bool operator==(std::string text) const {
    std::erase(text, ' ');
    return digits == text;
  }
};

Hex in_hex(const MessageBytes& bytes) {
  Hex hex;
  for (const std::byte each : bytes) {
    hex.digits += "0123456789abcdef"[static_cast<int>(each) / 16];
    hex.digits += "0123456789abcdef"[static_cast<int>(each) % 16];
  }
  return hex;
}

std::ostream& operator<<(std::ostream& out, const Hex& hex) { return out << hex.digits; }

TEST_CASE("the bytes on the wire are those of the format's description") {
  // Header: "SPCW", version 2, representation, data type 7, 0, nnz and length as uint64. In hex,
  // 1.0f is 00 00 80 3f and 2.0f is 00 00 00 40.
  // Distances 0 and 300000 = 2 * 2^17 + 37856, of which 17 bits are apart: 0 and 37856 << 17, then
  // ones at 34 + 0 + 0 and 34 + 2 + 1.
  const Entries<float> far_apart{{10, 1.0f}, {10 + 300000, 2.0f}};
  CHECK(in_hex(pack<float, uint32_t>(far_apart, {{10, 400010}})[0]) ==
        "53504357 02 01 07 00 0200000000000000 801a060000000000"
        "0000c02725000000"
        "0000803f 00000040");
  // The low seven bits of 4, 44, 45, 744 and 745 are 4, 44, 45, 104 and 105. Then there are ones at
  // 35 + 0, 36 + 0, 37 + 0, 38 + 5 and 39 + 5.
  const Entries<float> code{{260, 1.0f}, {300, 2.0f}, {301, 1.0f}, {1000, 2.0f}, {1001, 1.0f}};
  CHECK(in_hex(pack<float, uint32_t>(code, {{256, 1256}})[0]) ==
        "53504357 02 01 07 00 0500000000000000 e803000000000000"
        "04560b9d3e180000"
        "0000803f 00000040 0000803f 00000040 0000803f");
  const Entries<float> bits{{64, 1.0f}, {65, 2.0f}, {67, 1.0f}, {74, 2.0f}, {75, 1.0f}};
  CHECK(in_hex(pack<float, uint32_t>(bits, {{64, 76}})[0]) ==
        "53504357 02 02 07 00 0500000000000000 0c00000000000000"
        "0b0c000000000000"
        "0000803f 00000040 0000803f 00000040 0000803f");
  CHECK(in_hex(pack<double, uint64_t>({{9, 1.0}}, {{9, 10}})[0]) ==
        "53504357 02 03 08 00 0100000000000000 0100000000000000"
        "000000000000f03f");
}

TEST_CASE("rounded values are marked in the header") {
  // 1.00390625 lies halfway between 3f80 and 3f81, 1.01171875 between 3f81 and 3f82.
  const Entries<float> entries{{9, 1.00390625f}, {10, 1.01171875f}, {11, -3e38f}};
  CHECK(in_hex(pack<float, uint32_t>(entries, {{9, 12}}, Precision::bfloat16)[0]) ==
        "53504357 02 03 09 01 0300000000000000 0300000000000000"
        "803f 823f 62ff");
  CHECK(in_hex(pack<float, uint32_t, DataType::bfloat16>({{9, 1.0f}}, {{9, 10}})[0]) ==
        "53504357 02 03 09 00 0100000000000000 0100000000000000"
        "803f");
}

/// Writes coded indices bit by bit, by the description of the format.
MessageBytes coded_by_bit(const Entries<float>& entries, const Region& region) {
  const uint64_t nnz = entries.size();
  const int low = best_low(nnz, region.length());
  const uint64_t n = coded_bits(nnz, region.length(), low);
  MessageBytes bytes((n + 63) / 64 * 8);
  const auto set = [&](uint64_t bit) {
    REQUIRE(bit < n);
    bytes[bit / 8] |= std::byte{1} << (bit % 8);
  };
  for (uint64_t j = 0; j < nnz; ++j) {
    const uint64_t distance = entries[j].index - region.begin;
    for (int b = 0; b < low; ++b)
      if (distance >> b & 1) set(j * static_cast<uint64_t>(low) + static_cast<uint64_t>(b));
    set(nnz * static_cast<uint64_t>(low) + (distance >> low) + j);
  }
  return bytes;
}

TEST_CASE("coded indices are the description's bits, whatever their number and distance") {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    INFO("seed " << seed);
    const uint64_t length = 3 + noise(seed, 1) % (uint64_t{1} << (2 + seed % 61));
    const uint64_t nnz = 1 + noise(seed, 2) % std::min<uint64_t>(length - 2, 200);
    const WireCase shape{"random", Representation::coded, {seed, seed + length}, nnz, true};
    const Entries<float> entries = entries_of<float>(shape, seed);
    const MessageBytes message = pack<float, uint64_t>(entries, {shape.region})[0];
    if (message[5] != std::byte{1}) continue;
    const MessageBytes want = coded_by_bit(entries, shape.region);
    REQUIRE(message.size() == 24 + want.size() + 4 * nnz);
    CHECK(std::equal(want.begin(), want.end(), message.begin() + 24));
    CHECK(check_round_trip<float, uint64_t>(shape) == "");
    if (shape.region.end > uint64_t{1} << 32) continue;
    CHECK(pack<float, uint32_t>(entries, {shape.region})[0] == message);
    CHECK(check_other_loops(message, entries, shape.region) == "");
  }
}

/// Returns `regions` regions of [0, length), some of them empty.
std::vector<Region> random_regions(uint64_t length, size_t regions, uint64_t seed) {
  std::vector<uint64_t> borders{0, length};
  for (size_t r = 1; r < regions; ++r)
    borders.push_back(noise(seed, r) % 5 == 0 ? length : noise(seed, r + 100) % (length + 1));
  std::sort(borders.begin(), borders.end());
  std::vector<Region> result;
  for (size_t r = 0; r < regions; ++r) result.push_back({borders[r], borders[r + 1]});
  return result;
}

/// Packs random entries by random regions, and checks that messages do not overlap, fit, and unpack
/// to the same entries.
std::string check_random_regions(uint64_t seed) {
  const uint64_t length = noise(seed, 0) % 3 == 0 ? noise(seed, 1) % 300 : noise(seed, 1) % 200000;
  const uint64_t nnz = length == 0 ? 0 : noise(seed, 2) % (length / (1 + noise(seed, 3) % 100) + 1);
  const auto regions = random_regions(length, 1 + noise(seed, 4) % 6, seed);
  const Entries<float> entries =
      entries_of<float>({"random", Representation::dense, {0, length}, nnz, false}, seed);
  Backend<float, uint32_t> backend;
  const Packets packets = backend.kernels().packets(nnz, regions);
  backend.kernels().pack_all(backend.put(entries), regions, packets);
  backend.kernels().wait_packed(packets.slab + packets.capacity);
  Entries<float> back;
  uint64_t end = 0;
  for (size_t p = 0; p < regions.size(); ++p) {
    if (packets.offset[p] < end + kHeadroom) return "no headroom in front of a message";
    if (packets.offset[p] % 8 != 0) return "a message is not aligned";
    end = packets.offset[p] + packets.size[p];
    const MessageBytes message(packets.slab + packets.offset[p], packets.slab + end);
    const auto part = unpack<float, uint32_t>(message, regions[p]);
    if (part.faults != 0) return "a message was refused";
    const uint64_t bound = wire_bound({part.entries.size(), regions[p].length(), sizeof(float)});
    if (message.size() > bound) return "a message is beyond its bound";
    if (bound > wire_bound({nnz, regions[p].length(), sizeof(float)})) return "bounds do not rise";
    back.insert(back.end(), part.entries.begin(), part.entries.end());
  }
  if (end > packets.capacity) return "the messages are beyond the slab's capacity";
  return test::difference("entries", back, entries);
}

TEST_CASE("messages of random regions fit into their slab and come back") {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    INFO("seed " << seed);
    REQUIRE(check_random_regions(seed) == "");
  }
}

TEST_CASE("no message is larger than the bound, whatever the shape") {
  for (uint64_t seed = 0; seed < 200000; ++seed) {
    const uint64_t length = noise(seed, 1) >> (noise(seed, 2) % 64);
    const uint64_t most = std::min<uint64_t>(noise(seed, 3) >> (noise(seed, 4) % 64), length / 16);
    const uint64_t nnz = most == 0 ? 0 : noise(seed, 5) % (most + 1);
    if (length > (uint64_t{1} << 56)) continue;
    const WireShape shape{nnz, length, seed % 2 == 0 ? size_t{4} : size_t{8}};
    const uint64_t size = wire_bytes(wire_choose(shape), shape);
    if (size <= wire_bound({most, length, shape.value_size})) continue;
    FAIL("nnz " << nnz << " of " << length << ": " << size << " bytes");
  }
}

}  // namespace
}  // namespace sparsecoll::unit
