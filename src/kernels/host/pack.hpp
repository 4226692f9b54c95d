// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <type_traits>

#include "kernels/host/view.hpp"
#include "kernels/kernels.hpp"
#include "kernels/wire.hpp"

namespace sparsecoll::host {

/// Writes one integer of type W for each index: its distance from `begin`, as far as it fits into
/// W.
template <class W, class I>
void put_indices(std::byte* at, std::span<const I> index, uint64_t begin) {
  const W base = static_cast<W>(begin);
  for (size_t j = 0; j < index.size(); ++j) {
    const W narrow = static_cast<W>(static_cast<W>(index[j]) - base);
    std::memcpy(at + j * sizeof(W), &narrow, sizeof(W));
  }
}

/// How many of the leading indices are below `limit`. Looks at 1, 2, 4, ... entries at a time: a
/// block may have few entries or thousands.
template <class I>
size_t count_below(std::span<const I> index, uint64_t limit) {
  size_t known = 0, step = 1;
  while (known + step <= index.size() && index[known + step - 1] < limit) {
    known += step;
    step *= 2;
  }
  const auto first = index.begin() + static_cast<ptrdiff_t>(known);
  const auto last = index.begin() + static_cast<ptrdiff_t>(std::min(known + step, index.size()));
  return static_cast<size_t>(
      std::partition_point(first, last, [&](I each) { return each < limit; }) - index.begin());
}

template <class I>
void put_block16(std::byte* at, std::span<const I> index, const Region& region) {
  const uint64_t blocks = wire_blocks(region.length());
  std::span<const I> rest = index;
  for (uint64_t b = 0; b < blocks; ++b) {
    const uint64_t end = std::min(region.length(), (b + 1) * kWireBlock);
    const size_t n = count_below(rest, region.begin + end);
    const auto narrow = static_cast<uint32_t>(n);
    std::memcpy(at + b * 4, &narrow, 4);
    rest = rest.subspan(n);
  }
  static_assert(kWireBlock == 65536);
  // The distance from the block's start is what fits into 16 bits of that from the region's.
  put_indices<uint16_t>(at + blocks * 4, index, region.begin);
}

template <class I>
void put_bitmap(std::byte* at, std::span<const I> index, const Region& region, uint64_t bytes) {
  std::memset(at, 0, bytes);
  for (const I each : index) {
    const uint64_t bit = each - region.begin;
    at[bit / 8] |= std::byte{1} << (bit % 8);
  }
}

/// Which entries make up a message.
struct Part {
  size_t first;
  size_t last;
  Region region;
};

template <class W>
std::byte* put_header(const Part& part, Representation representation, std::byte* at) {
  const WireHeader header{kWireMagic,
                          kWireVersion,
                          static_cast<uint8_t>(representation),
                          static_cast<uint8_t>(data_type_of<W>()),
                          0,
                          part.last - part.first,
                          part.region.length()};
  std::memcpy(at, &header, sizeof header);
  return at + sizeof header;
}

/// Values of T, each rounded to it from the accumulation type.
template <class T>
void put_values(std::byte* at, const Accumulation<T>* value, size_t n) {
  if constexpr (std::is_same_v<T, Accumulation<T>>) {
    if (n > 0) std::memcpy(at, value, n * sizeof(T));
  } else {
    for (size_t j = 0; j < n; ++j) {
      const T rounded = narrow<T>(value[j]);
      std::memcpy(at + j * sizeof(T), &rounded, sizeof(T));
    }
  }
}

/// One message: header, indices, values, which travel as W. Returns its size.
template <class W, class I>
uint64_t pack(const View<Accumulation<W>, I>& in, const Part& part, std::byte* at) {
  const Region& region = part.region;
  const WireShape shape{part.last - part.first, region.length(), sizeof(W)};
  const Representation representation = wire_choose(shape);
  at = put_header<W>(part, representation, at);
  const uint64_t index_bytes = wire_index_bytes(representation, shape);
  if (index_bytes >= 8) std::memset(at + index_bytes - 8, 0, 8);  // the padding
  const std::span<const I> index =
      in.index ? std::span(in.index + part.first, shape.nnz) : std::span<const I>();
  switch (representation) {
    case Representation::coordinate:
      if (narrowest_index(shape.length) == IndexType::index32)
        put_indices<uint32_t>(at, index, region.begin);
      else
        put_indices<uint64_t>(at, index, region.begin);
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
  put_values<W>(at + index_bytes, in.value + part.first, shape.nnz);
  return wire_bytes(representation, shape);
}

template <class W, class I>
void pack_all(const View<Accumulation<W>, I>& in, std::span<const Region> regions,
              const Packets& out) {
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
    const Part part{position(regions[p].begin), position(regions[p].end), regions[p]};
    out.size[p] = pack<W, I>(in, part, out.slab + used);
    used += out.size[p];
  }
}

}  // namespace sparsecoll::host
