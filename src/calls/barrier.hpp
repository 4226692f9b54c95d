// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/call.hpp"
#include "core/arena.hpp"

namespace sparsecoll {

/// Sends an empty message from each rank to each other and receives theirs. Messages of one sender
/// arrive in order, so all messages that were sent to this rank before the barrier have arrived
/// when it returns.
void barrier(Call& call, Arena& arena);

}  // namespace sparsecoll
