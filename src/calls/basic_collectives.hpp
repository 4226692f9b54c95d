// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "calls/call.hpp"
#include "core/arena.hpp"

namespace sparsecoll {

/// Sends an empty message to every rank and waits for one from each. Afterwards everything has
/// arrived that any of them sent to this rank before.
void barrier(Call& call, Arena& arena);

/// Returns the bytes of every rank, by rank. All ranks pass equally many. Over messages that the
/// host receives; ceil(log2 P) rounds. Throws RemoteError for a message of another size.
std::vector<ConstBytes> allgather_equal(Call& call, Arena& arena, ConstBytes own);

/// Returns the smallest number of all ranks. Uses allgather_equal().
uint64_t smallest_of_all(Call& call, Arena& arena, uint64_t own);

}  // namespace sparsecoll
