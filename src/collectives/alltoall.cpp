// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Sparse all-to-all: every entry goes to the owner of its index.
//
//   1. Region r = [bounds[r], bounds[r + 1]) belongs to rank r. Pack the entries of each region
//      into one message, in the smallest of the wire's representations.
//   2. Send every rank its own, destinations rotating (r + 1, r + 2, ...). A message says itself
//      how much it holds, so there is no round for sizes.
//   3. Unpack what came, by source rank; per source it is ordered by index. On the host that is
//      done as messages come, and a rank's own part needs neither packing nor unpacking.
//
// Cost per rank: P - 1 messages; every entry but those in this rank's own region sent once. MPI's
// means need an alltoall of sizes and an alltoallv each for indices and values: 3 (P - 1) messages.
// Guarantees: every entry arrives exactly once, with the bits that it was sent with.
#include "collectives/alltoall.hpp"

#include "collectives/regions.hpp"

namespace sparsecoll {

ReceivedVectors alltoall(Env& env, const SparseSpan& local, std::span<const Region> regions) {
  return exchange_vectors(env, local, regions);
}

}  // namespace sparsecoll
