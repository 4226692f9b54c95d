// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/interface/env.hpp"
#include "core/function_ref.hpp"

namespace sparsecoll {

/// One rank's message, and a number that is sent with it.
struct GatheredMessage {
  ConstBytes message;
  uint64_t number = 0;
};

/// Gathers every rank's message on all ranks. Messages may have any size.
///
/// `expected_bytes` is an estimate of a message's size. All ranks must pass the same, because it
/// chooses between Bruck's rounds and direct messages. The result is ordered by rank and lives as
/// long as the call.
std::span<const GatheredMessage> allgather_messages(Env& env, const GatheredMessage& own,
                                                    size_t expected_bytes);
/// Gathers as above, and calls on_message once for each rank, including this one. If possible it
/// does so while other messages are still under way.
std::span<const GatheredMessage> allgather_messages(
    Env& env, const GatheredMessage& own, size_t expected_bytes,
    FunctionRef<void(int rank, const GatheredMessage& received)> on_message);

}  // namespace sparsecoll
