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
/// bfloat16. The sender packs the smallest representation, or the plain one where a byte costs less
/// time than a code. The receiver checks every field against its bound before it uses it.
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
  size_t value_size;  ///< bytes of the values of an entry
};

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
  return sizeof(WireHeader) + wire_index_bytes(representation, shape) +
         shape.nnz * shape.value_size;
}

/// Returns an upper bound of the bytes of a message with at most shape.nnz entries. If entries and
/// region are divided among several messages, these take at most this bound in all, plus a header
/// and kAlignment bytes for each: with the same number of low bits, the codes of all parts together
/// have no more bits than one code for all entries.
constexpr uint64_t wire_bound(const WireShape& shape) {
  const WireShape most{std::min(shape.nnz, shape.length), shape.length, shape.value_size};
  return sizeof(WireHeader) + most.nnz * most.value_size +
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
  return sent == DataType::bfloat16 && !is_integer(type);
}

/// Returns whether the header of a message of `size` bytes is valid as far as it alone shows: a
/// known representation, a type in which values of the tensor are sent, the expected length of the
/// region, and a size that fits. More bytes may follow, because messages of fixed size are as long
/// as the longest. `last`: devices do not read plain messages.
constexpr bool wire_sound(const WireHeader& header, uint64_t size, DataType type, uint64_t length,
                          size_t block_size = 1, Representation last = Representation::dense) {
  const auto representation = static_cast<Representation>(header.representation);
  const auto sent = static_cast<DataType>(header.data_type);
  const bool known = representation >= Representation::coded && representation <= last;
  const bool rounds = wire_rounds(sent, type);
  const size_t value_size = size_of(sent) * block_size;
  if (header.magic != kWireMagic || header.version != kWireVersion || !known ||
      header.rounded != rounds || (rounds && !wire_may_round(sent, type)) ||
      header.length != length || header.nnz > length || header.nnz > size / value_size ||
      (representation == Representation::dense && header.nnz != length))
    return false;
  if (representation == Representation::bitmap && length / 8 > size) return false;
  if (representation == Representation::plain && length > kLongestPlainRegion) return false;
  return wire_bytes(representation, {header.nnz, length, value_size}) <= size;
}

/// Returns the header of a message of any representation if it is valid, null otherwise.
inline const WireHeader* wire_header(ConstBytes message, DataType type, uint64_t length,
                                     WireHeader* out, size_t block_size = 1) {
  if (message.size() < sizeof(WireHeader)) return nullptr;
  std::memcpy(out, message.data(), sizeof(WireHeader));
  return wire_sound(*out, message.size(), type, length, block_size, Representation::plain)
             ? out
             : nullptr;
}

/// Returns how many entries the message claims to have, 0 if its header is invalid. Good for
/// allocation: unpack_all() checks the rest.
inline size_t wire_entries(ConstBytes message, DataType type, uint64_t length,
                           size_t block_size = 1) {
  WireHeader header;
  return wire_header(message, type, length, &header, block_size) ? header.nnz : 0;
}

}  // namespace sparsecoll
