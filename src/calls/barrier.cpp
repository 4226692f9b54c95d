// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/barrier.hpp"

#include "kernels/kernels.hpp"

namespace sparsecoll {

void barrier(Call& call, Arena& arena) {
  const int ranks = call.size(), rank = call.rank();
  const auto transfers = arena.take_span<Transfer>(2 * static_cast<size_t>(ranks - 1));
  for (int distance = 1; distance < ranks; ++distance) {
    const auto i = 2 * static_cast<size_t>(distance - 1);
    transfers[i] = {
        (rank + distance) % ranks, {arena.take<std::byte>(kHeadroom) + kHeadroom}, 0, {}};
    transfers[i + 1] = {(rank - distance + ranks) % ranks, {}, kUnknownSize, {}};
    transfers[i].message_memory = transfers[i + 1].message_memory = MessageMemory::host;
  }
  call.exchange(transfers);
}

}  // namespace sparsecoll
