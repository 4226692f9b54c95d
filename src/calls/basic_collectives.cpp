// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "calls/basic_collectives.hpp"

#include <algorithm>
#include <cstring>

#include "core/error.hpp"
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

// Bruck's algorithm. Before the round with distance d, rank r holds the blocks of the d ranks from
// r on. It sends to rank r - d the blocks that are missing there, and receives as many from rank
// r + d.
std::vector<ConstBytes> allgather_equal(Call& call, Arena& arena, ConstBytes own) {
  const int ranks = call.size(), rank = call.rank();
  const auto blocks = arena.take_span<std::byte>(static_cast<size_t>(ranks) * own.size());
  std::copy(own.begin(), own.end(), blocks.begin());
  for (int held = 1; held < ranks; held *= 2) {
    const size_t bytes = static_cast<size_t>(std::min(held, ranks - held)) * own.size();
    std::byte* const message = arena.take<std::byte>(kHeadroom + bytes) + kHeadroom;
    std::copy_n(blocks.begin(), bytes, message);
    Transfer transfers[2];
    transfers[0] = {(rank - held + ranks) % ranks, {message, bytes}, 0, {}, MessageMemory::host};
    transfers[1] = {(rank + held) % ranks, {}, kUnknownSize, {}, MessageMemory::host};
    call.exchange(transfers);
    const ConstBytes in = transfers[1].in;
    if (in.size() != bytes)
      fail(sparsecollRemoteError, "rank ", call.communicator_rank(transfers[1].peer), " sent ",
           in.size(), " bytes, expected ", bytes);
    std::copy(in.begin(), in.end(),
              blocks.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(held) * own.size()));
  }
  std::vector<ConstBytes> by_rank(static_cast<size_t>(ranks));
  for (int distance = 0; distance < ranks; ++distance)
    by_rank[static_cast<size_t>((rank + distance) % ranks)] =
        blocks.subspan(static_cast<size_t>(distance) * own.size(), own.size());
  return by_rank;
}

uint64_t smallest_of_all(Call& call, Arena& arena, uint64_t own) {
  uint64_t smallest = own;
  for (const ConstBytes each : allgather_equal(call, arena, std::as_bytes(std::span(&own, 1)))) {
    uint64_t number;
    std::memcpy(&number, each.data(), sizeof number);
    smallest = std::min(smallest, number);
  }
  return smallest;
}

}  // namespace sparsecoll
