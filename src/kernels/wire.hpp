// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/types.hpp"

namespace sparsecoll {

static_assert(std::endian::native == std::endian::little, "messages are little-endian");

/// The wire format: one message is a header, the indices relative to the region's start, padding to
/// 8 bytes, the values: of the tensor's type or, where they are sums, of its accumulation type.
/// pack picks the smallest representation; unpack checks every field against its bound before it is
/// used.
enum class Representation : uint8_t {
  coordinate = 1,  ///< indices as uint32 (uint64 in regions above 2^32): 4 bytes an entry
  block16 = 2,     ///< uint32 count per block of 65,536 indices, then uint16 offsets: 2 and a bit
  bitmap = 3,      ///< one bit per index: best above 1/16 density
  dense = 4,       ///< no indices: every index is present
};

struct WireHeader {
  uint32_t magic;
  uint8_t version;
  uint8_t representation;
  uint8_t data_type;
  uint8_t reserved;
  uint64_t nnz;
  uint64_t length;  ///< of the region
};
static_assert(sizeof(WireHeader) == 24);

inline constexpr uint32_t kWireMagic = 0x57435053;  // "SPCW"
inline constexpr uint8_t kWireVersion = 1;
inline constexpr uint64_t kWireBlock = 65536;

struct WireShape {
  uint64_t nnz;
  uint64_t length;
  size_t value_size;
};

constexpr uint64_t wire_blocks(uint64_t length) {
  return length / kWireBlock + (length % kWireBlock != 0);
}

/// Bytes of the index part, padded to 8.
constexpr uint64_t wire_index_bytes(Representation representation, const WireShape& shape) {
  const auto pad = [](uint64_t bytes) { return (bytes + 7) / 8 * 8; };
  switch (representation) {
    case Representation::coordinate:
      return pad(shape.nnz * size_of(narrowest_index(shape.length)));
    case Representation::block16:
      return pad(wire_blocks(shape.length) * 4 + shape.nnz * 2);
    case Representation::bitmap:
      return (shape.length / 64 + (shape.length % 64 != 0)) * 8;
    case Representation::dense:
      return 0;
  }
  return 0;
}

/// The smallest representation that fits the shape.
constexpr Representation wire_choose(const WireShape& shape) {
  if (shape.nnz == shape.length) return Representation::dense;
  Representation best = Representation::coordinate;
  for (const auto other : {Representation::block16, Representation::bitmap})
    if (wire_index_bytes(other, shape) < wire_index_bytes(best, shape)) best = other;
  return best;
}

/// Bytes of a whole message.
constexpr uint64_t wire_bytes(Representation representation, const WireShape& shape) {
  return sizeof(WireHeader) + wire_index_bytes(representation, shape) +
         shape.nnz * shape.value_size;
}

/// No message with at most shape.nnz entries is larger, nor are several that share the entries and
/// the region between them, but for a header and rounding (kAlignment) each.
constexpr uint64_t wire_bound(const WireShape& shape) {
  const WireShape most{std::min(shape.nnz, shape.length), shape.length, shape.value_size};
  return sizeof(WireHeader) + most.nnz * most.value_size +
         std::min(most.nnz * size_of(narrowest_index(most.length)),
                  wire_index_bytes(Representation::bitmap, most)) +
         8;
}

/// Whether the header of a message of `size` bytes is sound as far as it can tell: known
/// representation, the expected type (of the tensor; or its accumulation type) and region length, a
/// size that fits (bytes may follow: where sizes are fixed, messages are as long as the longest).
constexpr bool wire_sound(const WireHeader& header, uint64_t size, DataType type, uint64_t length) {
  const auto representation = static_cast<Representation>(header.representation);
  const auto sent = static_cast<DataType>(header.data_type);
  const bool known =
      representation >= Representation::coordinate && representation <= Representation::dense;
  if (header.magic != kWireMagic || header.version != kWireVersion || !known ||
      header.reserved != 0 || (sent != type && sent != accumulation(type)) ||
      header.length != length || header.nnz > length || header.nnz > size ||
      (representation == Representation::dense && header.nnz != length))
    return false;
  if (representation == Representation::block16 && wire_blocks(length) > size) return false;
  if (representation == Representation::bitmap && length / 8 > size) return false;
  return wire_bytes(representation, {header.nnz, length, size_of(sent)}) <= size;
}

/// The header of a message if it is sound; null otherwise.
inline const WireHeader* wire_header(ConstBytes message, DataType type, uint64_t length,
                                     WireHeader* out) {
  if (message.size() < sizeof(WireHeader)) return nullptr;
  std::memcpy(out, message.data(), sizeof(WireHeader));
  return wire_sound(*out, message.size(), type, length) ? out : nullptr;
}

/// How many entries the message says it has, 0 if its header is unsound: what to make room for
/// before unpack_all() looks closer.
inline size_t wire_entries(ConstBytes message, DataType type, uint64_t length) {
  WireHeader header;
  return wire_header(message, type, length, &header) ? header.nnz : 0;
}

}  // namespace sparsecoll
