// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <span>
#include <type_traits>

#include "kernels/host/view.hpp"
#include "kernels/kernels.hpp"
#include "kernels/wire.hpp"

namespace sparsecoll::host {

template <class W>
W load(const std::byte* at, size_t j) {
  W value;
  std::memcpy(&value, at + j * sizeof(W), sizeof(W));
  return value;
}

/// Reads n offsets of type W, adds `base` to each and says whether they are strictly rising and
/// below `length`. Nobody uses an index before that is known.
template <class W, class I>
bool get_offsets(const std::byte* at, size_t n, uint64_t length, uint64_t base, I* out) {
  if (n == 0) return true;
  bool falls = false;
  for (size_t j = 1; j < n; ++j) falls |= load<W>(at, j) <= load<W>(at, j - 1);
  for (size_t j = 0; j < n; ++j) out[j] = static_cast<I>(base + load<W>(at, j));
  return !falls && load<W>(at, n - 1) < length;
}

/// Each of these writes header.nnz indices and says whether they are strictly rising and inside the
/// region.
template <class I>
bool get_block16(const std::byte* at, const WireHeader& header, uint64_t begin, I* out) {
  const uint64_t blocks = wire_blocks(header.length);
  const std::byte* offsets = at + blocks * 4;
  uint64_t j = 0;
  for (uint64_t b = 0; b < blocks; ++b) {
    const uint64_t n = load<uint32_t>(at, b);
    if (n > header.nnz - j) return false;
    const uint64_t first = b * kWireBlock;
    const uint64_t length = std::min(kWireBlock, header.length - first);
    if (!get_offsets<uint16_t>(offsets + j * 2, n, length, begin + first, out + j)) return false;
    j += n;
  }
  return j == header.nnz;
}

template <class I>
bool get_bitmap(const std::byte* at, const WireHeader& header, uint64_t begin, I* out) {
  const uint64_t words = header.length / 64 + (header.length % 64 != 0);
  uint64_t j = 0;
  for (uint64_t w = 0; w < words; ++w) {
    uint64_t bits = load<uint64_t>(at, w);
    if (w == header.length / 64 && bits >> (header.length % 64) != 0) return false;
    if (static_cast<uint64_t>(std::popcount(bits)) > header.nnz - j) return false;
    for (; bits != 0; bits &= bits - 1)
      out[j++] = static_cast<I>(begin + w * 64 + static_cast<uint64_t>(std::countr_zero(bits)));
  }
  return j == header.nnz;
}

template <class I>
bool get_indices(const std::byte* at, const WireHeader& header, uint64_t begin, I* out) {
  switch (static_cast<Representation>(header.representation)) {
    case Representation::coordinate:
      return narrowest_index(header.length) == IndexType::index32
                 ? get_offsets<uint32_t>(at, header.nnz, header.length, begin, out)
                 : get_offsets<uint64_t>(at, header.nnz, header.length, begin, out);
    case Representation::block16:
      return get_block16(at, header, begin, out);
    case Representation::bitmap:
      return get_bitmap(at, header, begin, out);
    case Representation::dense:
      for (size_t j = 0; j < header.nnz; ++j) out[j] = static_cast<I>(begin + j);
      return true;
  }
  return false;
}

/// Values that travelled as W.
template <class W>
void get_values(const std::byte* at, size_t n, Accumulation<W>* out) {
  if constexpr (std::is_same_v<W, Accumulation<W>>) {
    if (n > 0) std::memcpy(out, at, n * sizeof(W));
  } else {
    for (size_t j = 0; j < n; ++j) out[j] = widen(load<W>(at, j));
  }
}

/// One message of a tensor of T into `out`, whose null index means that only a dense message will
/// do.
template <class T, class I>
bool unpack(const Message& message, const SparseBuffer& out) {
  *out.nnz = 0;
  WireHeader header;
  if (!wire_header(message.bytes, data_type_of<T>(), message.region.length(), &header) ||
      header.nnz > out.capacity)
    return false;
  const auto representation = static_cast<Representation>(header.representation);
  const auto sent = static_cast<DataType>(header.data_type);
  const std::byte* at = message.bytes.data() + sizeof header;
  if (out.index) {
    if (!get_indices(at, header, message.region.begin, static_cast<I*>(out.index))) return false;
  } else if (representation != Representation::dense) {
    return false;
  }
  at += wire_index_bytes(representation, {header.nnz, header.length, size_of(sent)});
  auto* value = static_cast<Accumulation<T>*>(out.value);
  if (sent == data_type_of<T>())
    get_values<T>(at, header.nnz, value);
  else
    get_values<Accumulation<T>>(at, header.nnz, value);
  *out.nnz = header.nnz;
  return true;
}

}  // namespace sparsecoll::host
