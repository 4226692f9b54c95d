// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Sparse all-to-all: sends every entry to the owner of its index.
//
//   1. Region r = [bounds[r], bounds[r + 1]) belongs to rank r. Pack the entries of each region
//      into one message, in the smallest of the wire's representations.
//   2. Send each rank its message; destinations rotate (r + 1, r + 2, ...). A message contains its
//      number of entries, so that sizes need no round of their own.
//   3. Unpack the received messages, by source rank; the entries of a source are ordered by index.
//      The host unpacks messages as they arrive. A rank's own region needs no packing.
//
// Cost per rank: P - 1 messages; each entry outside this rank's own region is sent once. With MPI's
// collectives it takes an alltoall of sizes and two alltoallv, of indices and values: 3 (P - 1)
// messages.
//
// Guarantees: every entry arrives exactly once, with the same bits.
#include "collectives/alltoall.hpp"

#include "collectives/building_blocks/region_exchange.hpp"

namespace sparsecoll {

ReceivedVectors alltoall(Env& env, const SparseSpan& local, std::span<const Region> regions) {
  return exchange_vectors(env, local, regions);
}

}  // namespace sparsecoll
