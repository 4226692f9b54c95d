// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/types.hpp"

namespace sparsecoll {

static_assert(std::endian::native == std::endian::little, "messages are little-endian");

/// The wire format. A message is a header, the indices relative to the region's start, padding to 8
/// bytes, and the values, a block of them for each index if the vector is one of blocks. Values
/// have the tensor's type; the accumulation type if they are sums; or, for floating-point types,
/// bfloat16 or 8 bits, with the scales in front of them. The sender packs the smallest
/// representation, or the plain one where a byte costs less time than a code. The receiver checks
/// every field against its bound before it uses it.
enum class Representation : uint8_t {
  coded = 1,   ///< Elias-Fano: about 2 + log2(length / nnz) bits an entry
  bitmap = 2,  ///< one bit per index: best above 1/4 density
  dense = 3,   ///< no indices: every index is present
  plain = 4,   ///< 32 bits an entry: its distance from the region's start
};

struct WireHeader {
  uint32_t magic;
  uint8_t version;
  uint8_t representation;
  uint8_t data_type;
  uint8_t rounded;  ///< wire_rounds(), 0 or 1; redundant, because the types determine it; finds a
                    ///< changed byte
  uint64_t nnz;
  uint64_t length;  ///< length of the region
};
static_assert(sizeof(WireHeader) == 24);

inline constexpr uint32_t kWireMagic = 0x57435053;  // "SPCW"
inline constexpr uint8_t kWireVersion = 2;

struct WireShape {
  uint64_t nnz;
  uint64_t length;
  size_t value_size;    ///< bytes of the values of an entry
  uint64_t scales = 0;  ///< bytes of the scales, one each
};

/// Says which values share a scale on an int8 wire: those of 2^bits consecutive indices form a
/// group. Groups are counted from the start of the vector, so that a region may cut one.
struct ScaleGroups {
  bool exist = false;  ///< false: no message of the call has scales
  unsigned bits = 0;
  uint64_t phase = 0;  ///< indices of the region's first group that precede the region

  constexpr ScaleGroups() = default;
  constexpr ScaleGroups(unsigned log2, uint64_t region_begin)
      : exist(true), bits(log2), phase(region_begin & ((uint64_t{1} << log2) - 1)) {}
  /// Returns the group of the index at this distance from the region's start.
  constexpr uint64_t of(uint64_t distance) const { return (phase + distance) >> bits; }
  /// Returns the number of groups that a region of this length meets.
  constexpr uint64_t number(uint64_t length) const { return length == 0 ? 0 : of(length - 1) + 1; }
};

/// Returns the logarithm of the number of consecutive indices that share a scale, if k of `count`
/// entries are selected, of `block_size` values each: at least 256 values, if selected entries are
/// spread evenly, and fewer than 1024. SPARSECOLL_ALL counts as 1/256 of the entries.
constexpr unsigned scale_bits_for(uint64_t count, size_t k, size_t block_size) {
  const uint64_t selected = k == 0 ? 1 : k;
  const uint64_t per_entry = k == kAll ? 256 : count / selected + (count % selected != 0);
  const int bits = 8 + std::bit_width(per_entry - (per_entry > 0)) - std::bit_width(block_size) + 1;
  return static_cast<unsigned>(std::clamp(bits, 0, 63));
}

/// Coded indices are one string of bits, lowest first. From bit j * low on it has the `low` lowest
/// bits of the distance of entry j from the region's start. From `unary` on it has the higher bits
/// h(j) as a one at unary + h(j) + j. Zeros fill it up to `end`. (Elias 1974, Fano 1971; `low`
/// makes the string shortest.)
struct EliasFanoLayout {
  unsigned low = 0;    ///< at most 63
  uint64_t unary = 0;  ///< nnz * low
  uint64_t end = 0;

  constexpr EliasFanoLayout(uint64_t nnz, uint64_t length) {
    if (nnz == 0) return;
    // One low bit more costs nnz bits and halves the zeros of the unary part.
    while ((length - 1) >> low > 2 * nnz) ++low;
    unary = nnz * low;
    end = unary + nnz + ((length - 1) >> low);
  }
  constexpr uint64_t mask() const { return (uint64_t{1} << low) - 1; }
  constexpr uint64_t words() const { return end / 64 + (end % 64 != 0); }
};

/// Returns the bytes of the index part, a multiple of 8.
constexpr uint64_t wire_index_bytes(Representation representation, const WireShape& shape) {
  switch (representation) {
    case Representation::coded:
      return EliasFanoLayout(shape.nnz, shape.length).words() * 8;
    case Representation::bitmap:
      return (shape.length / 64 + (shape.length % 64 != 0)) * 8;
    case Representation::dense:
      return 0;
    case Representation::plain:
      return (shape.nnz + shape.nnz % 2) * sizeof(uint32_t);
  }
  return 0;
}

/// Returns the smallest representation of the shape, and the simpler of two equal ones.
constexpr Representation wire_choose(const WireShape& shape) {
  if (shape.nnz == shape.length) return Representation::dense;
  const bool coded = wire_index_bytes(Representation::coded, shape) <
                     wire_index_bytes(Representation::bitmap, shape);
  return coded ? Representation::coded : Representation::bitmap;
}

/// A message with fewer entries is never plain: coded, most of them are so short that MPI sends
/// them without asking the receiver.
inline constexpr uint64_t kPlainEntries = 1024;
inline constexpr uint64_t kLongestPlainRegion = uint64_t{1} << 32;

/// Returns the representation for a receiver to which plain messages are the fastest: plain where
/// the smallest is coded.
constexpr Representation wire_choose_fastest(const WireShape& shape) {
  const Representation smallest = wire_choose(shape);
  return smallest == Representation::coded && shape.nnz >= kPlainEntries &&
                 shape.length <= kLongestPlainRegion
             ? Representation::plain
             : smallest;
}

/// Returns the bytes of a message.
constexpr uint64_t wire_bytes(Representation representation, const WireShape& shape) {
  return sizeof(WireHeader) + wire_index_bytes(representation, shape) + shape.scales +
         shape.nnz * shape.value_size;
}

/// Returns an upper bound of the bytes of a message with at most shape.nnz entries. If entries and
/// region are divided among several messages, these take at most this bound in all, plus a header
/// and kAlignment bytes for each: with the same number of low bits, the codes of all parts together
/// have no more bits than one code for all entries.
constexpr uint64_t wire_bound(const WireShape& shape) {
  const WireShape most{std::min(shape.nnz, shape.length), shape.length, shape.value_size};
  return sizeof(WireHeader) + shape.scales + most.nnz * most.value_size +
         std::min(wire_index_bytes(Representation::coded, most),
                  wire_index_bytes(Representation::bitmap, most)) +
         8;
}

/// Returns how many bytes more than wire_bound() plain messages may have in all.
constexpr uint64_t wire_plain_bound(uint64_t nnz, size_t messages) {
  return nnz * sizeof(uint32_t) + messages * 8;
}

/// Returns whether values of a tensor of that type have been rounded to be sent as `sent`.
constexpr bool wire_rounds(DataType sent, DataType type) {
  return sent != type && sent != accumulation(type);
}
/// Returns whether values of a tensor of this type may be rounded.
constexpr bool wire_may_round(DataType sent, DataType type) {
  return (sent == DataType::bfloat16 || sent == kInt8Values) && !is_integer(type);
}
/// Returns the bytes of a value that is sent as this type.
constexpr size_t sent_size(DataType sent) { return sent == kInt8Values ? 1 : size_of(sent); }

/// The parts of a message's format that its sender and its receiver know before it is sent.
struct RegionFormat {
  uint64_t length;  ///< of the region
  size_t block_size;
  ScaleGroups scales;

  constexpr RegionFormat(uint64_t indices, size_t values_of_entry = 1,
                         const ScaleGroups& groups = {})
      : length(indices), block_size(values_of_entry), scales(groups) {}

  constexpr WireShape shape(uint64_t nnz, DataType sent) const {
    const bool scaled = sent == kInt8Values;
    return {nnz, length, sent_size(sent) * block_size,
            scaled ? std::min(nnz, scales.number(length)) : 0};
  }
  /// Returns whether there is a scale for each group or, because that would be more, for each
  /// entry.
  constexpr bool scale_by_group(const WireShape& shape) const {
    return shape.scales >= scales.number(length);
  }
  /// Returns the position of the scale of entry j, at this distance from the region's start.
  constexpr uint64_t scale_position(const WireShape& shape, uint64_t j, uint64_t distance) const {
    return scale_by_group(shape) ? scales.of(distance) : j;
  }
};

/// Returns whether the header of a message of `size` bytes is valid as far as it alone shows: a
/// known representation, a type in which values of the tensor are sent, the expected length of the
/// region, and a size that fits. More bytes may follow, because messages of fixed size are as long
/// as the longest. `last`: the last representation that the reader accepts, dense on devices.
constexpr bool wire_sound(const WireHeader& header, uint64_t size, DataType type,
                          const RegionFormat& expected,
                          Representation last = Representation::dense) {
  const auto representation = static_cast<Representation>(header.representation);
  const auto sent = static_cast<DataType>(header.data_type);
  const bool known = representation >= Representation::coded && representation <= last;
  const bool rounds = wire_rounds(sent, type);
  const size_t value_size = sent_size(sent) * expected.block_size;
  if (header.magic != kWireMagic || header.version != kWireVersion || !known ||
      header.rounded != rounds || (rounds && !wire_may_round(sent, type)) ||
      (sent == kInt8Values && !expected.scales.exist) || header.length != expected.length ||
      header.nnz > header.length || header.nnz > size / value_size ||
      (representation == Representation::dense && header.nnz != header.length))
    return false;
  if (representation == Representation::bitmap && header.length / 8 > size) return false;
  if (representation == Representation::plain &&
      (header.length > kLongestPlainRegion || sent == kInt8Values))
    return false;
  const WireShape shape = expected.shape(header.nnz, sent);
  return shape.scales <= size && wire_bytes(representation, shape) <= size;
}

/// Returns the header of a message of any representation if it is valid, null otherwise.
inline const WireHeader* wire_header(ConstBytes message, DataType type,
                                     const RegionFormat& expected, WireHeader* out) {
  if (message.size() < sizeof(WireHeader)) return nullptr;
  std::memcpy(out, message.data(), sizeof(WireHeader));
  return wire_sound(*out, message.size(), type, expected, Representation::plain) ? out : nullptr;
}

/// Returns how many entries the message claims to have, 0 if its header is invalid. Good for
/// allocation: unpack_all() checks the rest.
inline size_t wire_entries(ConstBytes message, DataType type, const RegionFormat& expected) {
  WireHeader header;
  return wire_header(message, type, expected, &header) ? header.nnz : 0;
}

}  // namespace sparsecoll
