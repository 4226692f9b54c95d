// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>

#include "kernels/host/elias_fano.hpp"
#include "kernels/host/int8_values.hpp"
#include "kernels/host/view.hpp"
#include "kernels/kernels.hpp"
#include "kernels/wire.hpp"

namespace sparsecoll::host {

template <class I>
void put_bitmap(std::byte* at, std::span<const I> index, const Region& region, uint64_t bytes) {
  std::memset(at, 0, bytes);
  for (const I each : index) {
    const uint64_t bit = each - region.begin;
    at[bit / 8] |= std::byte{1} << (bit % 8);
  }
}

/// Writes the distances of the indices from the region's start in 32 bits each. The receiver has
/// just read this memory from another core, so that each store would wait for that core's cache.
/// Copies of many bytes at a time do not (docs/performance.md, "In one machine").
template <class I>
void put_plain(std::byte* at, std::span<const I> index, const Region& region, uint64_t bytes,
               const SparseLoops* loops) {
  constexpr size_t kAtOnce = 4096;
  uint32_t distance[kAtOnce];
  for (size_t first = 0; first < index.size(); first += kAtOnce) {
    const size_t n = std::min(index.size() - first, kAtOnce);
    const I* const from = index.data() + first;
    bool vectors = false;
    if constexpr (sizeof(I) == 4)
      if ((vectors = loops != nullptr))
        loops->put_plain(from, n, static_cast<uint32_t>(region.begin), distance);
    for (size_t j = 0; !vectors && j < n; ++j)
      distance[j] = static_cast<uint32_t>(from[j] - region.begin);
    std::memcpy(at + first * sizeof *distance, distance, n * sizeof *distance);
  }
  const size_t written = index.size() * sizeof *distance;
  std::memset(at + written, 0, bytes - written);
}

/// The entries of a message. `plain`: the message takes the fastest representation between ranks
/// that share memory, not the smallest.
struct MessageEntries {
  size_t first;
  size_t last;
  Region region;
  RegionFormat format;
  bool plain;

  /// Returns the shape of the message if values are sent as W.
  template <class W>
  WireShape shape() const {
    return format.shape(last - first, data_type_of<W>());
  }
  Representation representation(const WireShape& shape) const {
    return plain ? wire_choose_fastest(shape) : wire_choose(shape);
  }
};

template <class W, class T>
std::byte* put_header(const MessageEntries& entries, Representation representation, std::byte* at) {
  const WireHeader header{kWireMagic,
                          kWireVersion,
                          static_cast<uint8_t>(representation),
                          static_cast<uint8_t>(data_type_of<W>()),
                          wire_rounds(data_type_of<W>(), data_type_of<T>()),
                          entries.last - entries.first,
                          entries.region.length()};
  std::memcpy(at, &header, sizeof header);
  return at + sizeof header;
}

/// Rounds n values to bfloat16. `lost` gets the rounding errors.
template <class A>
void round_to_bf16(const A* value, size_t n, A* rounded, A* lost) {
  for (size_t j = 0; j < n; ++j) {
    lost[j] = lost_to_bf16(value[j]);
    rounded[j] = rounded_to_bf16(value[j]);
  }
}

/// Writes values of the accumulation type A, each rounded to W.
template <class W, class A>
void put_values(std::byte* at, const A* value, size_t n) {
  if constexpr (std::is_same_v<W, A>) {
    if (n > 0) std::memcpy(at, value, n * sizeof(W));
  } else {
    for (size_t j = 0; j < n; ++j) {
      const W rounded = narrow<W>(value[j]);
      std::memcpy(at + j * sizeof(W), &rounded, sizeof(W));
    }
  }
}

/// Writes one message of a tensor of T: header, indices and values, which are sent as W.
template <class W, class T, class I>
void pack(const View<Accumulation<T>, I>& in, const MessageEntries& entries, std::byte* at,
          const SparseLoops* loops) {
  const Region& region = entries.region;
  const WireShape shape = entries.shape<W>();
  const Representation representation = entries.representation(shape);
  at = put_header<W, T>(entries, representation, at);
  const uint64_t index_bytes = wire_index_bytes(representation, shape);
  const std::span<const I> index =
      in.index ? std::span(in.index + entries.first, shape.nnz) : std::span<const I>();
  switch (representation) {
    case Representation::coded:
      put_coded(at, index, region, loops);
      break;
    case Representation::bitmap:
      put_bitmap(at, index, region, index_bytes);
      break;
    case Representation::dense:
      break;
    case Representation::plain:
      put_plain(at, index, region, index_bytes, loops);
      break;
  }
  const size_t block_size = entries.format.block_size;
  if constexpr (std::is_same_v<W, Int8>)
    put_int8_values(at + index_bytes, in.value + entries.first * block_size, shape, entries.format,
                    [&](size_t j) { return in.at(entries.first + j) - region.begin; });
  else
    put_values<W>(at + index_bytes, in.value + entries.first * block_size, shape.nnz * block_size);
}

/// Returns the position of the first entry with an index of at least i.
template <class A, class I>
size_t position(const View<A, I>& in, uint64_t i) {
  if (!in.index) return std::min<uint64_t>(i, in.nnz);
  const auto below = [](I each, uint64_t bound) { return each < bound; };
  return static_cast<size_t>(std::lower_bound(in.index, in.index + in.nnz, i, below) - in.index);
}

/// A message whose memory and size are known and that is not written yet.
template <class T, class I>
struct PendingMessage {
  using In = View<Accumulation<T>, I>;

  In in;
  MessageEntries entries;
  std::byte* at;
  void (*pack)(const In&, const MessageEntries&, std::byte*, const SparseLoops*);

  void write(const SparseLoops* loops) const { pack(in, entries, at, loops); }
};

/// Sets offsets and sizes of the messages of the regions. Returns the messages to write.
template <class W, class T, class I>
std::span<const PendingMessage<T, I>> plan_messages(const View<Accumulation<T>, I>& in,
                                                    const Kernels& kernels,
                                                    std::span<const Region> regions,
                                                    const Packets& out, Arena& arena) {
  auto* const pending = arena.take<PendingMessage<T, I>>(regions.size());
  uint64_t used = 0;
  for (size_t p = 0; p < regions.size(); ++p) {
    used = align_up(used, 8) + kHeadroom;
    const MessageEntries entries{position(in, regions[p].begin), position(in, regions[p].end),
                                 regions[p], kernels.format_of(regions[p]),
                                 out.plain && out.plain[p]};
    const WireShape shape = entries.shape<W>();
    new (&pending[p]) PendingMessage<T, I>{in, entries, out.slab + used, pack<W, T, I>};
    out.offset[p] = used;
    out.size[p] = wire_bytes(entries.representation(shape), shape);
    used += out.size[p];
  }
  return {pending, regions.size()};
}

}  // namespace sparsecoll::host
