// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests that unpack_all() trusts nothing: whatever the bytes are, it stays inside its buffers and
// gives either a fault or entries that a valid message could have.

#include <cstring>

#include "kernels/messages.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/config.hpp"
#include "support/data.hpp"

namespace sparsecoll::unit {
namespace {

/// Returns messages that are short enough to change every byte, one for each representation and
/// border.
std::vector<WireCase> short_cases() {
  std::vector<WireCase> cases;
  for (WireCase shape : wire_cases()) {
    if (shape.nnz > 1000) continue;
    cases.push_back(shape);
  }
  return cases;
}

template <class T, class I>
std::string check_truncations(const WireCase& shape) {
  const MessageBytes message = pack<T, I>(entries_of<T>(shape, 2), {shape.region})[0];
  for (size_t size = 0; size < message.size(); ++size) {
    const MessageBytes part(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(size));
    for (const size_t capacity : {size_t{kAll}, size_t{shape.nnz}}) {
      const Unpacked<T> back = unpack<T, I>(part, shape.region, capacity);
      if (back.faults != 1 || !back.entries.empty())
        return "cut to " + std::to_string(size) + " of " + std::to_string(message.size()) +
               " bytes, it was taken";
    }
  }
  return "";
}

TEST_CASE("every truncation is refused") {
  for (const WireCase& shape : short_cases()) {
    INFO(shape.name);
    CHECK(check_truncations<double, uint64_t>(shape) == "");
    if (!shape.wide) CHECK(check_truncations<float, uint32_t>(shape) == "");
  }
}

/// Changes every byte in several ways. The values at the end may be anything, so only a few of them
/// are changed.
template <class T, class I>
std::string check_flips(const WireCase& shape, Precision precision) {
  const Entries<T> entries = entries_of<T>(shape, 3);
  const MessageBytes message = pack<T, I>(entries, {shape.region}, precision)[0];
  const size_t value_size = precision == Precision::int8       ? 1
                            : precision == Precision::bfloat16 ? 2
                                                               : sizeof(T);
  const size_t values_at = message.size() - entries.size() * value_size;
  const size_t step = test::small_run() ? 5 : 1;
  for (size_t at = 0; at < std::min(message.size(), values_at + 20); at += at < 64 ? 1 : step) {
    for (const int mask : {1, 2, 4, 8, 16, 32, 64, 128, 255, 0x81}) {
      MessageBytes spoilt(message);
      spoilt[at] ^= static_cast<std::byte>(mask);
      const Unpacked<T> back = unpack<T, I>(spoilt, shape.region);
      std::string wrong = check_harmless(back, shape.region);
      best_loops() = !best_loops();
      const Unpacked<T> other = unpack<T, I>(spoilt, shape.region);
      best_loops() = !best_loops();
      if (wrong.empty() && other.faults != back.faults) wrong = "a fault by one way only";
      if (wrong.empty()) wrong = test::difference("by both ways", other.entries, back.entries);
      // Version, type, rounding and length have only one valid value.
      const bool in_header = at < 5 || at == 6 || at == 7 || (at >= 16 && at < 24);
      if (wrong.empty() && in_header && back.faults == 0) wrong = "was taken";
      if (!wrong.empty())
        return "byte " + std::to_string(at) + " ^ " + std::to_string(mask) + ": " + wrong;
    }
  }
  return "";
}

TEST_CASE("any changed byte gives a fault or entries that rise inside the region") {
  for (const WireCase& shape : short_cases()) {
    INFO(shape.name);
    for (const Precision precision : {Precision::stored, Precision::bfloat16, Precision::int8}) {
      CHECK(check_flips<double, uint64_t>(shape, precision) == "");
      if (!shape.wide) CHECK(check_flips<float, uint32_t>(shape, precision) == "");
    }
  }
}

/// Returns a message with one field of its header replaced.
template <class Field>
MessageBytes with_field(MessageBytes message, size_t offset, Field value) {
  std::memcpy(message.data() + offset, &value, sizeof value);
  return message;
}

constexpr size_t kVersionAt = 4, kRepresentationAt = 5, kTypeAt = 6, kNnzAt = 8, kLengthAt = 16,
                 kBodyAt = 24;

template <class I = uint32_t>
bool refused(const MessageBytes& message, const Region& region) {
  const Unpacked<float> back = unpack<float, I>(message, region, 1000);
  return back.faults == 1 && back.entries.empty();
}

TEST_CASE("headers that do not fit are refused") {
  const Region region{0, 100000};
  const MessageBytes good =
      pack<float, uint32_t>({{1, 1.0f}, {2, 2.0f}, {70000, 3.0f}}, {region})[0];
  REQUIRE_FALSE(refused(good, region));
  CHECK(unpack<double, uint32_t>(good, region, 1000).faults == 1);  // another type is expected
  CHECK(refused(good, {0, 99999}));
  CHECK(refused(good, {1, 100002}));
  CHECK(refused(with_field(good, 0, uint32_t{0x57435054}), region));
  for (const int version : {0, 1, 3, 255})
    CHECK(refused(with_field(good, kVersionAt, static_cast<uint8_t>(version)), region));
  for (const int representation : {0, 4, 5, 255})
    CHECK(
        refused(with_field(good, kRepresentationAt, static_cast<uint8_t>(representation)), region));
  CHECK(refused(with_field(good, kTypeAt, uint8_t{8}), region));
  for (const uint64_t nnz : {uint64_t{4}, uint64_t{100001}, uint64_t{1} << 32, uint64_t{1} << 61,
                             uint64_t{1} << 62, uint64_t{1} << 63, ~uint64_t{0}})
    CHECK(refused(with_field(good, kNnzAt, nnz), region));
  for (const uint64_t length : {uint64_t{0}, uint64_t{99999}, ~uint64_t{0}})
    CHECK(refused(with_field(good, kLengthAt, length), region));
  CHECK(unpack<float, uint32_t>(good, region, 2).faults == 1);  // room for two entries only
  CHECK(refused({}, region));
  CHECK(wire_entries(with_field(good, kNnzAt, ~uint64_t{0}), DataType::float32, 100000) == 0);
}

TEST_CASE("numbers near 2^64 in a header do not overflow the check of its size") {
  // The region is so long that the sizes in a message wrap if they are multiplied.
  for (int representation = 1; representation <= 4; ++representation) {
    for (const uint64_t length : {uint64_t{1} << 40, uint64_t{1} << 62, uint64_t{1} << 63,
                                  ~uint64_t{0} - 65535, ~uint64_t{0} - 1, ~uint64_t{0}}) {
      for (const uint64_t nnz : {length, length / 2, uint64_t{1}, uint64_t{0}}) {
        WireHeader header{kWireMagic, kWireVersion, static_cast<uint8_t>(representation), 7, 0,
                          nnz,        length};
        MessageBytes message(256);
        std::memcpy(message.data(), &header, sizeof header);
        const Region region{0, length};
        const size_t claimed = wire_entries(message, DataType::float32, length);
        INFO("representation " << representation << ", " << nnz << " of " << length);
        CHECK(claimed <= message.size());
        CHECK(check_harmless(unpack<float, uint64_t>(message, region), region) == "");
      }
    }
  }
}

/// Returns the message with these bits of its index part flipped.
MessageBytes flipped(MessageBytes message, std::initializer_list<size_t> bits) {
  for (const size_t bit : bits) message[kBodyAt + bit / 8] ^= std::byte{1} << (bit % 8);
  return message;
}

TEST_CASE("codes whose indices do not rise inside the region are refused") {
  // 3 entries of 1000: 8 low bits, then ones at 24 + h + j with h up to 3.
  const Region region{50, 1050};
  const MessageBytes good =
      pack<float, uint32_t>({{50 + 20, 1.0f}, {50 + 24, 2.0f}, {50 + 998, 3.0f}}, {region})[0];
  REQUIRE(good[kRepresentationAt] == std::byte{1});
  REQUIRE_FALSE(refused(good, region));
  CHECK(refused(with_field(good, kBodyAt + 1, uint8_t{20}), region));  // repeated
  CHECK(refused(with_field(good, kBodyAt + 1, uint8_t{19}), region));  // falls
  CHECK_FALSE(refused(with_field(good, kBodyAt + 1, uint8_t{21}), region));
  CHECK(refused(with_field(good, kBodyAt + 2, uint8_t{1000 % 256}), region));  // one too far
  CHECK_FALSE(refused(with_field(good, kBodyAt + 2, uint8_t{999 % 256}), region));
  CHECK_FALSE(refused(flipped(good, {25, 26}), region));  // 24 + 256
  const Region all{0, ~uint64_t{0}};
  const MessageBytes far = pack<float, uint64_t>({{1, 1.0f}, {2, 2.0f}}, {all})[0];
  REQUIRE_FALSE(refused<uint64_t>(far, all));
  MessageBytes last(far);  // distance 2^64 - 1, one too far, in front of another
  for (size_t bit = 0; bit < 62; ++bit)
    if (((far[kBodyAt + bit / 8] >> (bit % 8)) & std::byte{1}) == std::byte{0})
      last = flipped(last, {bit});
  CHECK(refused<uint64_t>(last, all));
  CHECK(refused<uint64_t>(flipped(last, {124, 125, 127, 128}), all));
}

TEST_CASE("codes with another number of ones are refused") {
  const Region region{0, 1000};
  Entries<float> entries;
  for (uint64_t i = 0; i < 100; ++i) entries.push_back({i * 10, 1.0f});
  const MessageBytes good = pack<float, uint32_t>(entries, {region})[0];
  REQUIRE(good[kRepresentationAt] == std::byte{1});
  REQUIRE_FALSE(refused(good, region));
  const size_t unary = 100 * 3, end = unary + 100 + 999 / 8;
  for (size_t bit = unary; bit < (end + 63) / 64 * 64; ++bit)  // one too many, one too few
    CHECK(refused(flipped(good, {bit}), region));
  for (size_t bit = end; bit < (end + 63) / 64 * 64; ++bit)  // the first, behind the end
    CHECK(refused(flipped(good, {unary, bit}), region));
}

TEST_CASE("codes without low bits are taken, too") {
  // 0, 2 and 4 of 5, as pack() would not write them: ones at h + j.
  const Region region{10, 15};
  MessageBytes message = pack<float, uint32_t>({{10, 1.0f}, {12, 2.0f}, {14, 3.0f}}, {region})[0];
  REQUIRE(message[kRepresentationAt] == std::byte{2});
  message = with_field(with_field(message, kRepresentationAt, uint8_t{1}), kBodyAt, uint8_t{0x49});
  const Unpacked<float> back = unpack<float, uint32_t>(message, region);
  CHECK(back.faults == 0);
  CHECK(test::difference("entries", back.entries, {{10, 1.0f}, {12, 2.0f}, {14, 3.0f}}) == "");
  CHECK(refused(with_field(message, kBodyAt, uint8_t{0xc9}), region));
  CHECK(refused(with_field(message, kBodyAt, uint8_t{0x89}), region));
}

TEST_CASE("bits beyond the end or of another number are refused") {
  const Region region{0, 100};
  Entries<float> entries;
  for (uint64_t i = 0; i < 50; ++i) entries.push_back({2 * i, 1.0f});
  const MessageBytes good = pack<float, uint32_t>(entries, {region})[0];
  REQUIRE(good[kRepresentationAt] == std::byte{2});
  REQUIRE_FALSE(refused(good, region));
  for (size_t bit = 0; bit < 128; ++bit) {  // one too many, one too few
    MessageBytes spoilt(good);
    spoilt[kBodyAt + bit / 8] ^= std::byte{1} << (bit % 8);
    CHECK(refused(spoilt, region));
  }
  MessageBytes moved(good);  // as many bits, but one behind the end
  moved[kBodyAt] ^= std::byte{1};
  moved[kBodyAt + 12] ^= std::byte{0x10};
  CHECK(refused(moved, region));
  moved[kBodyAt + 12] = good[kBodyAt + 12] ^ std::byte{0x08};  // the last index that there is
  CHECK_FALSE(refused(moved, region));
}

TEST_CASE("values that travelled as they are added can be read where they are") {
  const Region region{0, 1000};
  const Entries<float> entries{{4, 1.0f}, {7, 2.0f}, {999, -3.0f}};
  const auto in_place = [&](auto backend, const MessageBytes& message) {
    return backend.kernels().values_in({message, region}) != nullptr;
  };
  const MessageBytes whole = pack<float, uint32_t>(entries, {region})[0];
  CHECK(in_place(Backend<float, uint32_t>(), whole));
  CHECK_FALSE(in_place(Backend<float, uint32_t>(), {whole.begin(), whole.end() - 1}));
  CHECK_FALSE(in_place(Backend<double, uint32_t>(), whole));
  const MessageBytes rounded = pack<float, uint32_t>(entries, {region}, Precision::bfloat16)[0];
  CHECK_FALSE(in_place(Backend<float, uint32_t>(), rounded));
}

TEST_CASE("of several messages the sound ones are taken") {
  Backend<float, uint32_t> backend;
  const Region region{0, 1000};
  const MessageBytes good = pack<float, uint32_t>({{4, 1.0f}}, {region})[0];
  const MessageBytes bad(good.begin(), good.end() - 1);
  const Message messages[] = {{good, region}, {bad, region}, {good, region}, {bad, region}};
  SparseBuffer out[4];
  for (SparseBuffer& each : out) each = backend.kernels().sparse(1);
  uint64_t* faults = backend.kernels().counts(1);
  backend.kernels().unpack_all(messages, out, faults);
  CHECK(*faults == 2);
  CHECK(backend.get(out[0]).size() == 1);
  CHECK(backend.get(out[1]).empty());
  CHECK(backend.get(out[2]).size() == 1);
  CHECK(backend.get(out[3]).empty());
}

}  // namespace
}  // namespace sparsecoll::unit
