// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <span>
#include <type_traits>

#include "kernels/host/elias_fano.hpp"
#include "kernels/host/int8_values.hpp"
#include "kernels/host/view.hpp"
#include "kernels/kernels.hpp"
#include "kernels/wire.hpp"

namespace sparsecoll::host {

/// Each of these functions writes header.nnz indices. It returns whether they are strictly rising
/// and inside the region.
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
bool get_plain(const std::byte* at, const WireHeader& header, uint64_t begin, I* out,
               const SparseLoops* loops) {
  if (header.nnz == 0) return true;
  if (load<uint32_t>(at, header.nnz - 1) >= header.length) return false;
  if constexpr (sizeof(I) == 4)
    if (loops) return loops->get_plain({at, header.nnz, static_cast<uint32_t>(begin), out});
  bool rises = true;
  for (uint64_t j = 0; j < header.nnz; ++j) {
    const uint32_t distance = load<uint32_t>(at, j);
    rises &= j == 0 || distance > load<uint32_t>(at, j - 1);
    out[j] = static_cast<I>(begin + distance);
  }
  return rises;
}

template <class I>
bool get_indices(const std::byte* at, const WireHeader& header, uint64_t begin, I* out,
                 const SparseLoops* loops) {
  switch (static_cast<Representation>(header.representation)) {
    case Representation::coded:
      return EliasFanoReader(at, header, loops).get(begin, out);
    case Representation::bitmap:
      return get_bitmap(at, header, begin, out);
    case Representation::dense:
      for (size_t j = 0; j < header.nnz; ++j) out[j] = static_cast<I>(begin + j);
      return true;
    case Representation::plain:
      return get_plain(at, header, begin, out, loops);
  }
  return false;
}

/// Converts values that were sent as W.
template <class W, class A>
void get_values(const std::byte* at, size_t n, A* out) {
  if constexpr (std::is_same_v<W, A>) {
    if (n > 0) std::memcpy(out, at, n * sizeof(W));
  } else {
    for (size_t j = 0; j < n; ++j) out[j] = widen(load<W>(at, j));
  }
}

/// Returns where the values of a valid message of a tensor of T begin, if they were sent in the
/// accumulation type; else null.
template <class T>
const std::byte* values_in(const Message& message, const RegionFormat& format) {
  using A = Accumulation<T>;
  WireHeader header;
  if (!wire_header(message.bytes, data_type_of<T>(), format, &header) ||
      static_cast<DataType>(header.data_type) != data_type_of<A>())
    return nullptr;
  const WireShape shape = format.shape(header.nnz, data_type_of<A>());
  const auto representation = static_cast<Representation>(header.representation);
  const std::byte* const at =
      message.bytes.data() + sizeof header + wire_index_bytes(representation, shape);
  return reinterpret_cast<uintptr_t>(at) % alignof(A) == 0 ? at : nullptr;
}

/// Unpacks one message of a tensor of T. If the index of `out` is null, only a dense message is
/// valid; if its value is null, the values stay in the message.
template <class T, class I>
bool unpack(const Message& message, const SparseBuffer& out, const RegionFormat& format,
            const SparseLoops* loops) {
  *out.nnz = 0;
  WireHeader header;
  if (!wire_header(message.bytes, data_type_of<T>(), format, &header) || header.nnz > out.capacity)
    return false;
  const auto representation = static_cast<Representation>(header.representation);
  const auto sent = static_cast<DataType>(header.data_type);
  const std::byte* at = message.bytes.data() + sizeof header;
  I* const index = static_cast<I*>(out.index);
  if (index) {
    if (!get_indices(at, header, message.region.begin, index, loops)) return false;
  } else if (representation != Representation::dense) {
    return false;
  }
  const WireShape shape = format.shape(header.nnz, sent);
  at += wire_index_bytes(representation, shape);
  const size_t values = header.nnz * format.block_size;
  auto* value = static_cast<Accumulation<T>*>(out.value);
  if (!value) {
    // values_in() has returned the address of the values
  } else if (sent == data_type_of<T>()) {
    get_values<T>(at, values, value);
  } else if (sent == accumulation(data_type_of<T>())) {
    get_values<Accumulation<T>>(at, values, value);
  } else if constexpr (!Integer<T>) {
    const auto distance_of = [&](size_t j) {
      return index ? index[j] - message.region.begin : uint64_t{j};
    };
    if (sent == kInt8Values)
      get_int8_values(at, shape, format, distance_of, value);
    else
      get_values<Bfloat16>(at, values, value);
  }
  *out.nnz = header.nnz;
  return true;
}

}  // namespace sparsecoll::host
