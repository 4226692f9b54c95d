// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of MissingTransfers: which messages of an exchange are missing, as they arrive.

#include "calls/framed/missing_transfers.hpp"

#include <vector>

#include "support/catch.hpp"

namespace sparsecoll::unit {
namespace {

Transfer from(int peer) { return {peer, {}, 8, {}}; }

std::vector<int> copy(std::span<const int> peers) { return {peers.begin(), peers.end()}; }

TEST_CASE("transfers of a peer are taken in their order, and the others stay in theirs") {
  Memory memory;
  Arena arena(memory);
  const Arena::Scope scope(arena);
  MissingTransfers missing(9, arena);
  const std::vector<Transfer> transfers{from(5), from(2), from(5), {3, {}, 0, {}}, from(8)};
  missing.begin(transfers);
  CHECK(copy(missing.peers()) == std::vector{5, 2, 8});
  CHECK_FALSE(missing.contains(3));  // it only sends

  for (const int peer : {8, 5, 1, 8, 3}) missing.add_arrival(peer);
  CHECK(copy(missing.arrivals()) == std::vector{8, 5});  // each once, and only awaited ones
  CHECK(missing.take(8) == 4);
  CHECK(missing.take(5) == 0);
  missing.end_arrivals();
  CHECK(copy(missing.peers()) == std::vector{5, 2});  // a second message of rank 5 is missing
  CHECK(missing.arrivals().empty());

  for (const int peer : {8, 5, 2}) missing.add_arrival(peer);
  CHECK(copy(missing.arrivals()) == std::vector{5, 2});
  CHECK(missing.take(5) == 2);
  CHECK_FALSE(missing.contains(5));
  missing.end_arrivals();  // the frame of rank 2 was not its message
  CHECK(copy(missing.peers()) == std::vector{2});

  missing.add_arrival(2);
  CHECK(missing.take(2) == 1);
  missing.end_arrivals();
  CHECK(missing.peers().empty());
  missing.begin(transfers);
  CHECK(copy(missing.peers()) == std::vector{5, 2, 8});
}

}  // namespace
}  // namespace sparsecoll::unit
