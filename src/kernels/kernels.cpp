// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernels.hpp"

#include "kernels/wire.hpp"

namespace sparsecoll {

SparseBuffer Kernels::sparse(size_t capacity) {
  SparseBuffer buffer;
  buffer.capacity = capacity;
  buffer.index = bytes(capacity * size_of(index_type()));
  buffer.value = bytes(capacity * size_of(data_type()));
  buffer.nnz = counts(1);
  return buffer;
}

Packets Kernels::packets(size_t nnz, std::span<const Region> regions) {
  Packets packets;
  uint64_t covered = 0;
  for (const Region& region : regions) covered += region.length();
  packets.capacity = regions.size() * (kHeadroom + sizeof(WireHeader) + kAlignment) +
                     wire_bound({nnz, covered, size_of(data_type())});
  packets.slab = bytes(packets.capacity);
  packets.offset = counts(2 * regions.size());
  packets.size = packets.offset + regions.size();
  return packets;
}

}  // namespace sparsecoll
