// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/building_blocks/received_vectors.hpp"

namespace sparsecoll {

/// Sends the entries of each region to its owner. Returns the entries that the ranks sent for this
/// rank's region, by source. See alltoall.cpp.
ReceivedVectors alltoall(Env& env, const SparseSpan& local, std::span<const Region> regions);

}  // namespace sparsecoll
