// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>

#include "kernels/host/view.hpp"
#include "kernels/kernels.hpp"
#include "kernels/wire.hpp"

namespace sparsecoll::host {

/// Writes `count` integers of type W, one per entry, each computed from its index in the region.
template <class W, class I, class Map>
std::byte* put_indices(std::byte* at, std::span<const I> index, Map map) {
  for (const I each : index) {
    const W narrow = static_cast<W>(map(each));
    std::memcpy(at, &narrow, sizeof(W));
    at += sizeof(W);
  }
  return at;
}

template <class I>
void put_block16(std::byte* at, std::span<const I> index, const Region& region) {
  const uint64_t blocks = wire_blocks(region.length());
  std::memset(at, 0, blocks * 4);
  for (const I each : index) {
    std::byte* counter = at + (each - region.begin) / kWireBlock * 4;
    uint32_t n;
    std::memcpy(&n, counter, 4);
    ++n;
    std::memcpy(counter, &n, 4);
  }
  put_indices<uint16_t>(at + blocks * 4, index,
                        [&](I i) { return (i - region.begin) % kWireBlock; });
}

template <class I>
void put_bitmap(std::byte* at, std::span<const I> index, const Region& region, uint64_t bytes) {
  std::memset(at, 0, bytes);
  for (const I each : index) {
    const uint64_t bit = each - region.begin;
    at[bit / 8] |= std::byte{1} << (bit % 8);
  }
}

/// One message: header, indices, values. Returns its size.
template <class T, class I>
uint64_t pack(const View<T, I>& in, size_t first, size_t last, const Region& region,
              std::byte* at) {
  const WireShape shape{last - first, region.length(), sizeof(T)};
  const Representation representation = wire_choose(shape);
  const WireHeader header{kWireMagic,
                          kWireVersion,
                          static_cast<uint8_t>(representation),
                          static_cast<uint8_t>(Float<T>::kType),
                          0,
                          shape.nnz,
                          shape.length};
  std::memcpy(at, &header, sizeof header);
  at += sizeof header;
  const uint64_t index_bytes = wire_index_bytes(representation, shape);
  if (index_bytes >= 8) std::memset(at + index_bytes - 8, 0, 8);  // the padding
  const std::span<const I> index =
      in.index ? std::span(in.index + first, shape.nnz) : std::span<const I>();
  const auto relative = [&](I i) { return i - region.begin; };
  switch (representation) {
    case Representation::coordinate:
      if (narrowest_index(shape.length) == IndexType::index32)
        put_indices<uint32_t>(at, index, relative);
      else
        put_indices<uint64_t>(at, index, relative);
      break;
    case Representation::block16:
      put_block16(at, index, region);
      break;
    case Representation::bitmap:
      put_bitmap(at, index, region, index_bytes);
      break;
    case Representation::dense:
      break;
  }
  if (shape.nnz > 0) std::memcpy(at + index_bytes, in.value + first, shape.nnz * sizeof(T));
  return wire_bytes(representation, shape);
}

template <class T, class I>
void pack_all(const View<T, I>& in, std::span<const Region> regions, const Packets& out) {
  const auto position = [&](uint64_t i) -> size_t {
    if (!in.index) return std::min<uint64_t>(i, in.nnz);
    return static_cast<size_t>(
        std::lower_bound(in.index, in.index + in.nnz, i,
                         [](I each, uint64_t bound) { return each < bound; }) -
        in.index);
  };
  uint64_t used = 0;
  for (size_t p = 0; p < regions.size(); ++p) {
    used = align_up(used, 8) + kHeadroom;
    out.offset[p] = used;
    out.size[p] =
        pack(in, position(regions[p].begin), position(regions[p].end), regions[p], out.slab + used);
    used += out.size[p];
  }
}

}  // namespace sparsecoll::host
