// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Packs and unpacks messages in the wire format. Input and output are in heap blocks of exactly the
// size they need, so that AddressSanitizer sees every access beyond them.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/wire.hpp"

namespace sparsecoll::unit {

using MessageBytes = std::vector<std::byte>;

/// 2^kScaleBits indices share a scale in messages of 8-bit values.
inline constexpr unsigned kScaleBits = 10;

/// Packs `entries` into one message for each region. For 16-bit tensors T is wider than the type,
/// so the values must be ones that the type has. Where the precision rounds, they may be others.
/// `plain`: all messages go to ranks to which plain ones are the fastest.
template <class T, class I, DataType kType = kOwnType<T>>
std::vector<MessageBytes> pack(const Entries<T>& entries, const std::vector<Region>& regions,
                               Precision precision = Precision::stored, bool plain = false) {
  Backend<T, I, kType> backend;
  backend.kernels().set_scale_bits(kScaleBits);
  const SparseSpan span = backend.put(entries).known(precision);
  const auto flags = backend.arena().template take_span<bool>(regions.size(), plain);
  const Packets packets = backend.kernels().packets(entries.size(), regions, span.precision,
                                                    plain ? flags.data() : nullptr);
  backend.kernels().pack_all(span, regions, packets);
  backend.kernels().wait_packed(packets.slab + packets.capacity);
  std::vector<MessageBytes> messages;
  for (size_t p = 0; p < regions.size(); ++p) {
    const std::byte* at = packets.slab + packets.offset[p];
    messages.emplace_back(at, at + packets.size[p]);
  }
  return messages;
}

template <class T>
struct Unpacked {
  uint64_t faults;
  Entries<T> entries;
};

/// Checks values that are read in place: they lie in the message, and have the same bits as
/// unpacked values.
template <class T>
void check_in_place(const void* values, const MessageBytes& message, const T* unpacked, size_t n) {
  const auto* const at = static_cast<const std::byte*>(values);
  const std::byte* const end = message.data() + message.size();
  if (at < message.data() || at > end || n > static_cast<size_t>(end - at) / sizeof(T))
    throw std::logic_error("values beyond their message");
  if (n > 0 && std::memcmp(at, unpacked, n * sizeof(T)) != 0)
    throw std::logic_error("other values where they are");
}

/// `capacity` = kAll means the number that wire_entries() gives.
template <class T, class I, DataType kType = kOwnType<T>>
Unpacked<T> unpack(const MessageBytes& bytes, const Region& region, size_t capacity = kAll) {
  Backend<T, I, kType> backend;
  backend.kernels().set_scale_bits(kScaleBits);
  const MessageBytes exact(bytes);
  if (capacity == kAll) capacity = wire_entries(exact, kType, backend.kernels().format_of(region));
  std::vector<I> index(capacity);
  std::vector<T> value(capacity);
  I none = 0;  // a null index would mean dense
  uint64_t nnz = 77, faults = 0;
  const SparseBuffer out{capacity == 0 ? &none : index.data(), value.data(), &nnz, capacity};
  const Message message{exact, region};
  backend.kernels().unpack_all({&message, 1}, {&out, 1}, &faults);
  if (const void* const values = backend.kernels().values_in(message)) {
    check_in_place(values, exact, value.data(), nnz);
    SparseBuffer indices = out;
    indices.value = nullptr;
    const std::vector<I> before(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(nnz));
    const uint64_t entries = std::exchange(nnz, 77);
    std::ranges::fill(index, I{77});
    uint64_t again = 0;
    backend.kernels().unpack_all({&message, 1}, {&indices, 1}, &again);
    if (again != faults || nnz != entries ||
        !std::ranges::equal(before, std::span(index).first(nnz)))
      throw std::logic_error("other indices without values");
  }
  return {faults, backend.get(out)};
}

/// Unpacks a message into a dense vector.
template <class T, DataType kType = kOwnType<T>>
Unpacked<T> unpack_dense(const MessageBytes& bytes, const Region& region) {
  Backend<T, uint32_t, kType> backend;
  backend.kernels().set_scale_bits(kScaleBits);
  const MessageBytes exact(bytes);
  std::vector<T> value(region.length());
  uint64_t nnz = 77, faults = 0;
  const SparseBuffer out{nullptr, value.data(), &nnz, value.size()};
  const Message message{exact, region};
  backend.kernels().unpack_all({&message, 1}, {&out, 1}, &faults);
  Unpacked<T> unpacked{faults, {}};
  for (size_t j = 0; j < nnz; ++j) unpacked.entries.push_back({j, value[j]});
  return unpacked;
}

/// Returns "" if the outcome is one that arbitrary bytes may have: a fault and no entries, or
/// entries with strictly rising indices inside the region.
template <class T>
std::string check_harmless(const Unpacked<T>& unpacked, const Region& region) {
  if (unpacked.faults > 1) return "more than one fault";
  if (unpacked.faults == 1) return unpacked.entries.empty() ? "" : "a fault, and yet entries";
  uint64_t floor = region.begin;
  for (const auto& entry : unpacked.entries) {
    if (entry.index < floor || entry.index >= region.end)
      return "index " + std::to_string(entry.index) + " where at least " + std::to_string(floor) +
             " and less than " + std::to_string(region.end) + " was due";
    floor = entry.index + 1;
  }
  return "";
}

/// One kind of message: which entries of which region.
struct WireCase {
  const char* name;
  Representation expected;
  Region region;
  uint64_t nnz;
  bool wide;  ///< needs 64-bit indices
};

/// Returns shapes for every representation, and for the borders between them.
const std::vector<WireCase>& wire_cases();

/// Returns entries for a shape. Indices are spread over the region and include both of its ends if
/// there are two or more. All values differ; NaN and -0 are among them.
template <class T>
Entries<T> entries_of(const WireCase& shape, uint64_t seed);

extern template Entries<float> entries_of(const WireCase&, uint64_t);
extern template Entries<double> entries_of(const WireCase&, uint64_t);

}  // namespace sparsecoll::unit
