// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernels.hpp"

#include <algorithm>

#include "kernels/host/merge.hpp"
#include "kernels/wire.hpp"

namespace sparsecoll {

SparseBuffer Kernels::sparse(size_t capacity) {
  SparseBuffer buffer;
  buffer.capacity = capacity;
  buffer.index = bytes(capacity * size_of(index_type()));
  buffer.value = bytes(value_bytes(capacity));
  buffer.nnz = counts(1);
  return buffer;
}

Packets Kernels::packets(size_t nnz, std::span<const Region> regions, Precision precision,
                         const bool* plain) {
  Packets packets;
  packets.plain = plain;
  uint64_t covered = 0;
  for (const Region& region : regions) covered += region.length();
  packets.capacity = regions.size() * (kHeadroom + sizeof(WireHeader) + kAlignment) +
                     message_bound(nnz, covered, precision) +
                     (plain ? wire_plain_bound(nnz, regions.size()) : 0);
  // A region may cut the groups of scales at its two ends, and then has up to two scales more.
  if (precision == Precision::int8) packets.capacity += 2 * regions.size();
  packets.slab = slab(packets.capacity, regions.size());
  packets.offset = counts(2 * regions.size());
  packets.size = packets.offset + regions.size();
  return packets;
}

size_t Kernels::wire_value_size(Precision precision) const {
  switch (precision) {
    case Precision::accumulated:
      return block_size() * size_of(accumulation(data_type()));
    case Precision::stored:
      return block_size() * size_of(data_type());
    case Precision::bfloat16:
      return block_size() * size_of(DataType::bfloat16);
    case Precision::int8:
      break;
  }
  return block_size() * sizeof(int8_t);
}

uint64_t Kernels::message_bound(size_t nnz, uint64_t length, Precision precision) const {
  const uint64_t scales = precision == Precision::int8
                              ? std::min<uint64_t>(nnz, (length >> scale_bits_.value()) + 2)
                              : 0;
  return wire_bound({nnz, length, wire_value_size(precision), scales});
}

size_t Kernels::merge_workspace(uint64_t length) { return host::merge_workspace(length); }

SparseSpan Kernels::values_of(const SparseSpan& in) {
  if (block_size() == 1) return in;
  const size_t values = read(in.nnz.at) * block_size();
  uint64_t* const length = counts(1);
  set_count(length, values);
  return {nullptr, in.value, {values, length}, in.precision};
}

SparseSpan Kernels::widened(const SparseSpan& in) {
  if (accumulation(data_type()) == data_type()) return in.stored();
  void* wide = bytes(value_bytes(in.nnz.bound));
  widen(in, wide);
  return SparseSpan{in.index, wide, in.nnz}.stored();
}

}  // namespace sparsecoll
