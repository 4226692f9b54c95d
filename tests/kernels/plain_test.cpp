// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests plain messages, those between ranks that share memory: when they are chosen, that they come
// back, and that nothing in them is trusted.

#include <cstring>

#include "kernels/messages.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/data.hpp"

namespace sparsecoll::unit {
namespace {

using test::noise;

constexpr size_t kRepresentationAt = 5, kBodyAt = 24;
constexpr uint64_t k2to32 = uint64_t{1} << 32;

/// Shapes of plain messages. `expected` is the smallest representation.
const std::vector<WireCase>& plain_cases() {
  static const std::vector<WireCase> cases{
      {"the fewest entries", Representation::coded, {0, 100000}, kPlainEntries, false},
      {"one more", Representation::coded, {9, 100009}, kPlainEntries + 1, false},
      {"fifteen more", Representation::coded, {9, 100009}, kPlainEntries + 15, false},
      {"sixteen more", Representation::coded, {9, 100009}, kPlainEntries + 16, false},
      {"up to the last of 32 bits", Representation::coded, {k2to32 - 90000, k2to32}, 4000, false},
      {"all of 32 bits", Representation::coded, {0, k2to32}, 2000, false},
      {"a long region far out", Representation::coded, {k2to32 * 9, k2to32 * 10}, 1777, true},
      {"a short region far out",
       Representation::coded,
       {k2to32 * 9, k2to32 * 9 + 9000},
       1600,
       true},
  };
  return cases;
}

template <class T, class I>
MessageBytes pack_plain(const Entries<T>& entries, const Region& region,
                        Precision precision = Precision::stored) {
  return pack<T, I>(entries, {region}, precision, true)[0];
}

/// Returns a plain message by the description of the format.
MessageBytes described(const Entries<float>& entries, const Region& region) {
  const uint64_t nnz = entries.size(), length = region.length();
  const WireHeader header{kWireMagic, kWireVersion, 4, 7, 0, nnz, length};
  MessageBytes bytes(kBodyAt + (nnz * 4 + 7) / 8 * 8 + nnz * 4);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::byte* at = bytes.data() + kBodyAt;
  for (const auto& each : entries) {
    const auto distance = static_cast<uint32_t>(each.index - region.begin);
    std::memcpy(at, &distance, 4);
    at += 4;
  }
  at = bytes.data() + bytes.size() - nnz * 4;
  for (const auto& each : entries) {
    std::memcpy(at, &each.value, 4);
    at += 4;
  }
  return bytes;
}

template <class T, class I>
std::string check_round_trip(const WireCase& shape, Precision precision) {
  const Entries<T> entries = entries_of<T>(shape, 1);
  const MessageBytes message = pack_plain<T, I>(entries, shape.region, precision);
  if (message[kRepresentationAt] != std::byte{4}) return "not plain";
  if (precision == Precision::stored && sizeof(T) == 4) {
    const Entries<float> as_floats(entries_of<float>(shape, 1));
    if (message != described(as_floats, shape.region)) return "other bytes than described";
  }
  MessageBytes longer(message);
  longer.resize(message.size() + 40);
  const Unpacked<T> coded =
      unpack<T, I>(pack<T, I>(entries, {shape.region}, precision)[0], shape.region);
  for (const MessageBytes& bytes : {message, longer}) {
    const Unpacked<T> back = unpack<T, I>(bytes, shape.region);
    if (back.faults != 0) return "refused";
    const std::string differs = test::difference("entries", back.entries, coded.entries);
    if (!differs.empty()) return differs;
  }
  return "";
}

TEST_CASE("plain messages bring what coded ones bring, in the bytes of the description") {
  for (const WireCase& shape : plain_cases()) {
    INFO(shape.name);
    for (const Precision precision : {Precision::stored, Precision::bfloat16}) {
      CHECK(check_round_trip<float, uint64_t>(shape, precision) == "");
      CHECK(check_round_trip<double, uint64_t>(shape, precision) == "");
      if (shape.wide) continue;
      CHECK(check_round_trip<float, uint32_t>(shape, precision) == "");
      CHECK(check_round_trip<double, uint32_t>(shape, precision) == "");
    }
  }
}

TEST_CASE("few entries, many to a region, and long regions are not plain") {
  const auto representation = [](const WireCase& shape) {
    const Entries<float> entries = entries_of<float>(shape, 1);
    return static_cast<int>(pack_plain<float, uint64_t>(entries, shape.region)[kRepresentationAt]);
  };
  for (const WireCase& shape : wire_cases()) {
    INFO(shape.name);
    const bool plain = shape.expected == Representation::coded && shape.nnz >= kPlainEntries;
    CHECK(representation(shape) == (plain ? 4 : static_cast<int>(shape.expected)));
  }
  CHECK(representation({"", Representation::coded, {0, k2to32}, kPlainEntries, true}) == 4);
  CHECK(representation({"", Representation::coded, {0, k2to32 + 1}, kPlainEntries, true}) == 1);
  CHECK(representation({"", Representation::coded, {0, k2to32}, kPlainEntries - 1, true}) == 1);
}

TEST_CASE("plain and other messages of random regions fit into their slab") {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    const uint64_t length = 1 + noise(seed, 1) % 200000;
    const uint64_t nnz = noise(seed, 2) % (length / (1 + noise(seed, 3) % 30) + 1);
    const uint64_t cut = noise(seed, 4) % (length + 1);
    const std::vector<Region> regions{{0, cut}, {cut, cut}, {cut, length}};
    Backend<float, uint32_t> backend;
    const bool plain[] = {noise(seed, 5) % 2 == 0, true, noise(seed, 6) % 2 == 0};
    const Packets packets = backend.kernels().packets(nnz, regions, Precision::accumulated, plain);
    const Entries<float> entries =
        entries_of<float>({"random", Representation::dense, {0, length}, nnz, false}, seed);
    backend.kernels().pack_all(backend.put(entries), regions, packets);
    backend.kernels().wait_packed(packets.slab + packets.capacity);
    Entries<float> back;
    for (size_t p = 0; p < regions.size(); ++p) {
      const std::byte* const at = packets.slab + packets.offset[p];
      REQUIRE(packets.offset[p] + packets.size[p] <= packets.capacity);
      const auto part = unpack<float, uint32_t>(MessageBytes(at, at + packets.size[p]), regions[p]);
      CHECK(part.faults == 0);
      if (!plain[p]) CHECK(at[kRepresentationAt] != std::byte{4});
      back.insert(back.end(), part.entries.begin(), part.entries.end());
    }
    CHECK(test::difference("entries", back, entries) == "");
  }
}

TEST_CASE("a plain message that is cut is refused") {
  const WireCase& shape = plain_cases()[1];
  const MessageBytes message =
      pack_plain<float, uint32_t>(entries_of<float>(shape, 2), shape.region);
  for (size_t size = 0; size < message.size(); size += size < 64 ? 1 : 7) {
    const MessageBytes part(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(size));
    for (const size_t capacity : {size_t{kAll}, size_t{shape.nnz}})
      CHECK(unpack<float, uint32_t>(part, shape.region, capacity).faults == 1);
  }
}

/// Returns "" if the message gives the same by all loops, and nothing that a valid one could not.
template <class T, class I>
std::string check_both_loops(const MessageBytes& message, const Region& region) {
  const Unpacked<T> back = unpack<T, I>(message, region);
  best_loops() = !best_loops();
  const Unpacked<T> other = unpack<T, I>(message, region);
  best_loops() = !best_loops();
  const std::string wrong = check_harmless(back, region);
  if (!wrong.empty()) return wrong;
  if (other.faults != back.faults) return "a fault by one way only";
  return test::difference("by both ways", other.entries, back.entries);
}

TEST_CASE("any changed byte of a plain message gives a fault or entries that rise in the region") {
  for (const WireCase& shape : plain_cases()) {
    INFO(shape.name);
    if (shape.nnz > kPlainEntries + 100) continue;
    const MessageBytes message =
        pack_plain<float, uint64_t>(entries_of<float>(shape, 3), shape.region);
    for (size_t at = 0; at < kBodyAt + 4 * shape.nnz; at += at < 128 ? 1 : 5) {
      INFO("byte " << at);
      for (const int mask : {1, 16, 128, 255}) {
        MessageBytes spoilt(message);
        spoilt[at] ^= static_cast<std::byte>(mask);
        CHECK(check_both_loops<float, uint64_t>(spoilt, shape.region) == "");
        if (!shape.wide) CHECK(check_both_loops<float, uint32_t>(spoilt, shape.region) == "");
      }
    }
  }
}

TEST_CASE("plain indices that do not rise inside the region are refused, wherever they are") {
  const WireCase& shape = plain_cases()[2];
  const Entries<float> entries = entries_of<float>(shape, 4);
  const MessageBytes good = described(entries, shape.region);
  const auto with = [&](size_t j, uint64_t distance) {
    MessageBytes changed(good);
    const auto narrow = static_cast<uint32_t>(distance);
    std::memcpy(changed.data() + kBodyAt + 4 * j, &narrow, 4);
    return changed;
  };
  const auto refused = [&](const MessageBytes& message) {
    REQUIRE(check_both_loops<float, uint32_t>(message, shape.region) == "");
    return unpack<float, uint32_t>(message, shape.region).faults == 1 &&
           unpack<float, uint64_t>(message, shape.region).faults == 1;
  };
  const auto distance = [&](size_t j) { return entries[j].index - shape.region.begin; };
  REQUIRE_FALSE(refused(good));
  for (size_t j = 0; j < entries.size(); ++j) {
    if (j > 0) CHECK(refused(with(j, distance(j - 1))));      // repeated
    if (j > 0) CHECK(refused(with(j - 1, distance(j) + 1)));  // falls
    CHECK(refused(with(j, shape.region.length())));           // one too far
    CHECK(refused(with(j, ~uint32_t{0})));
  }
  CHECK_FALSE(refused(with(entries.size() - 1, shape.region.length() - 1)));
}

TEST_CASE("a plain message for a region of more than 2^32 indices is refused") {
  const Region region{0, k2to32 + 1};
  const MessageBytes message = described({{4, 1.0f}, {9, 2.0f}}, region);
  CHECK(unpack<float, uint64_t>(message, region, 2).faults == 1);
  CHECK(unpack<float, uint64_t>(described({{4, 1.0f}, {9, 2.0f}}, {0, k2to32}), {0, k2to32}, 2)
            .faults == 0);
}

TEST_CASE("devices refuse the header of a plain message") {
  const WireHeader header{kWireMagic, kWireVersion, 4, 7, 0, 2, 100};
  CHECK_FALSE(wire_sound(header, 1000, DataType::float32, 100));
  CHECK(wire_sound(header, 1000, DataType::float32, 100, Representation::plain));
}

TEST_CASE("a plain message of 8-bit values is refused") {
  const RegionFormat format(100, 1, ScaleGroups{4, 0});
  WireHeader header{kWireMagic, kWireVersion, 1, 0, 1, 2, 100};
  CHECK(wire_sound(header, 1000, DataType::float32, format, Representation::plain));
  header.representation = 4;
  CHECK_FALSE(wire_sound(header, 1000, DataType::float32, format, Representation::plain));
}

}  // namespace
}  // namespace sparsecoll::unit
