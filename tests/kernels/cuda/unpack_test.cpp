// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests that the device unpacks every message, valid or not, as the host does.

#include "kernels/cuda/arrived.hpp"
#include "support/catch.hpp"
#include "support/config.hpp"
#include "support/data.hpp"

namespace sparsecoll::cuda_test {
namespace {

using test::noise;
using unit::WireCase;

constexpr uint64_t k2to32 = uint64_t{1} << 32;

template <class T>
size_t entries_in(const MessageBytes& bytes, size_t size, const Region& region) {
  return wire_entries(ConstBytes(bytes).first(size), data_type_of<T>(), region.length());
}

/// Returns the message of a shape, with values as they are, as sums or rounded.
template <class T>
MessageBytes message_of(const WireCase& shape, Precision precision) {
  using Acc = Accumulation<T>;
  unit::Backend<Acc, uint64_t, data_type_of<T>()> backend;
  SparseSpan span = backend.put(unit::entries_of<Acc>(shape, 5));
  span.precision = precision;
  if (precision == Precision::int8) backend.kernels().set_scale_bits(unit::kScaleBits);
  const Packets packets = backend.kernels().packets(shape.nnz, {&shape.region, 1}, precision);
  backend.kernels().pack_all(span, {&shape.region, 1}, packets);
  backend.kernels().wait_packed(packets.slab + packets.capacity);
  return {packets.slab + packets.offset[0], packets.slab + packets.offset[0] + packets.size[0]};
}

/// Checks valid messages of all shapes, with and without bytes behind them, and with enough or too
/// little room.
template <class T, class I>
std::vector<Arrived> sound_messages() {
  std::vector<Arrived> all;
  for (const WireCase& shape : unit::wire_cases()) {
    if (shape.wide && sizeof(I) == 4) continue;
    for (const Precision precision :
         {Precision::stored, Precision::accumulated, Precision::bfloat16, Precision::int8}) {
      MessageBytes bytes = message_of<T>(shape, precision);
      const size_t size = bytes.size();
      all.push_back({bytes, size, shape.region, shape.nnz});
      bytes.resize(size + 41, std::byte{0xff});
      all.push_back({bytes, size + 40, shape.region, shape.nnz + 3});
      all.push_back({bytes, size + 1, shape.region, shape.nnz, true});
      if (shape.nnz > 0) all.push_back({bytes, size, shape.region, shape.nnz - 1});
    }
  }
  return all;
}

TEST_CASE("what messages hold is what the host finds in them") {
  for (const size_t shift : {0, 8, 4, 2, 1}) {
    INFO("shift " << shift);
    CHECK(check_unpack<float, uint32_t>(sound_messages<float, uint32_t>(), shift) == "");
    if (shift != 1) continue;
    CHECK(check_unpack<double, uint64_t>(sound_messages<double, uint64_t>(), shift) == "");
    CHECK(check_unpack<Float16, uint64_t>(sound_messages<Float16, uint64_t>(), shift) == "");
    CHECK(check_unpack<Bfloat16, uint32_t>(sound_messages<Bfloat16, uint32_t>(), shift) == "");
  }
  CHECK(check_unpack<double, uint64_t>(sound_messages<double, uint64_t>(), 0) == "");
  CHECK(check_unpack<Float16, uint64_t>(sound_messages<Float16, uint64_t>(), 0) == "");
  CHECK(check_unpack<float, uint32_t>({}, 0) == "");
}

/// Checks long messages that many blocks share. The entries are in few words or blocks, or
/// everywhere.
template <class T, class I>
std::string check_long(uint64_t length, uint64_t first, uint64_t last, uint64_t one_in) {
  Entries<Accumulation<T>> entries;
  for (uint64_t i = first; i < last; ++i)
    if (noise(3, i) % one_in == 0) entries.push_back({i, static_cast<Accumulation<T>>(i % 1000)});
  if (entries.empty() || entries.back().index + 1 != length) entries.push_back({length - 1, 1});
  const Region region{0, length};
  const auto messages = unit::pack<Accumulation<T>, I, data_type_of<T>()>(entries, {region});
  MessageBytes spoilt = messages[0];
  spoilt[spoilt.size() - entries.size() * sizeof(T) - 1 - 4 * (entries.size() % 2)] ^=
      std::byte{0x80};
  return check_unpack<T, I>({{messages[0], messages[0].size(), region, entries.size()},
                             {spoilt, spoilt.size(), region, entries.size()}},
                            0);
}

TEST_CASE("long messages are shared by blocks") {
  const uint64_t length = test::small_run() ? 70000 : 65536 * 6 + 17;
  CHECK(check_long<float, uint32_t>(length, 0, length, 40) == "");           // coded
  CHECK(check_long<float, uint32_t>(length, 0, length, 3) == "");            // bits
  CHECK(check_long<Float16, uint64_t>(length, 0, length, 1) == "");          // dense
  CHECK(check_long<float, uint32_t>(length, 66000, 69000, 1) == "");         // one hot spot
  CHECK(check_long<double, uint64_t>(length, 0, 30000, 1) == "");            // bits at the front
  CHECK(check_long<Bfloat16, uint32_t>(length * 900, 0, length, 60) == "");  // long gaps
  if (test::small_run()) return;
  constexpr uint64_t kLong = uint64_t{1} << 21;  // hundreds of blocks, where there are as many
  CHECK(check_long<float, uint32_t>(kLong, 0, kLong, 2) == "");
  CHECK(check_long<float, uint32_t>(kLong * 300, 70000, kLong, 2) == "");
}

/// Returns short shapes of every representation.
std::vector<WireCase> short_shapes() {
  return {{"coded", Representation::coded, {12345, 1012345}, 7, false},
          {"above 2^32", Representation::coded, {3, k2to32 + 4}, 6, true},
          {"60 low bits", Representation::coded, {3, k2to32 * (k2to32 / 4)}, 3, true},
          {"few low bits", Representation::coded, {9, 300}, 41, false},
          {"bitmap", Representation::bitmap, {1, 130}, 60, false},
          {"dense", Representation::dense, {100, 118}, 18, false},
          {"nothing", Representation::coded, {5, 100000}, 0, false}};
}

/// Unpacks all messages in one call, with room for the entries that they claim, and then for those
/// that they had.
template <class T, class I>
std::string check_damaged(const std::vector<MessageBytes>& damaged, const WireCase& shape) {
  std::vector<Arrived> all;
  for (const MessageBytes& bytes : damaged) {
    const size_t claimed = entries_in<T>(bytes, bytes.size(), shape.region);
    all.push_back({bytes, bytes.size(), shape.region, claimed});
    if (claimed != shape.nnz) all.push_back({bytes, bytes.size(), shape.region, shape.nnz});
  }
  return check_unpack<T, I>(all, shape.nnz % 2);
}

/// Returns copies of a message, each with another byte changed.
std::vector<MessageBytes> with_bytes_changed(const MessageBytes& message) {
  std::vector<MessageBytes> damaged(message.size(), message);
  for (size_t at = 0; at < message.size(); ++at) damaged[at][at] = ~damaged[at][at];
  return damaged;
}

/// Returns copies of a message with the same header, in which some of the other bytes are noise.
std::vector<MessageBytes> with_noise(const MessageBytes& message, uint64_t seed) {
  std::vector<MessageBytes> damaged;
  for (uint64_t c = 0; c < (test::small_run() ? 10 : 30); ++c) {
    damaged.push_back(message);
    for (size_t at = c % 5 == 0 ? 0 : sizeof(WireHeader); at < message.size(); ++at)
      if (noise(seed, c, at) % (c + 1) < 2)
        damaged.back()[at] = static_cast<std::byte>(noise(seed + 1, c, at));
  }
  return damaged;
}

template <class T, class I>
std::string check_damage(const WireCase& shape, Precision precision) {
  const MessageBytes message = message_of<T>(shape, precision);
  std::vector<Arrived> cut;
  for (size_t size = 0; size <= message.size(); ++size)
    cut.push_back({message, size, shape.region, shape.nnz});
  std::string wrong = check_unpack<T, I>(cut, 0);
  if (wrong.empty()) wrong = check_damaged<T, I>(with_bytes_changed(message), shape);
  if (wrong.empty()) wrong = check_damaged<T, I>(with_noise(message, shape.nnz), shape);
  return wrong;
}

TEST_CASE("damaged and truncated messages get the host's verdict") {
  for (const WireCase& shape : short_shapes()) {
    INFO(shape.name);
    REQUIRE(message_of<float>(shape, Precision::stored)[5] == std::byte(shape.expected));
    CHECK(check_damage<double, uint64_t>(shape, Precision::stored) == "");
    CHECK(check_damage<double, uint64_t>(shape, Precision::bfloat16) == "");
    CHECK(check_damage<double, uint64_t>(shape, Precision::int8) == "");
    if (shape.wide) continue;
    CHECK(check_damage<Float16, uint32_t>(shape, Precision::stored) == "");
    CHECK(check_damage<Bfloat16, uint32_t>(shape, Precision::accumulated) == "");
    CHECK(check_damage<float, uint32_t>(shape, Precision::int8) == "");
  }
}

TEST_CASE("headers with numbers near 2^64 get the host's verdict") {
  std::vector<Arrived> all;
  for (const uint8_t representation : {0, 1, 2, 3, 5}) {  // devices read no plain messages
    for (const uint64_t length : {uint64_t{0}, uint64_t{7}, uint64_t{1} << 40, uint64_t{1} << 63,
                                  ~uint64_t{0} - 65535, ~uint64_t{0}}) {
      for (const uint64_t nnz : {length, length / 2, uint64_t{1}, uint64_t{0}}) {
        const WireHeader header{kWireMagic, kWireVersion, representation, 7, 0, nnz, length};
        MessageBytes bytes(300);
        std::memcpy(bytes.data(), &header, sizeof header);
        all.push_back({bytes, 256, {0, length}, entries_in<float>(bytes, 256, {0, length})});
      }
    }
  }
  CHECK(check_unpack<float, uint64_t>(all, 0) == "");
  CHECK(check_unpack<Float16, uint64_t>(all, 1) == "");
}

}  // namespace
}  // namespace sparsecoll::cuda_test
