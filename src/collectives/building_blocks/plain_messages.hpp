// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Plain messages (kernels/wire.hpp) between ranks that share memory. The sender chooses the
// format for each peer. The message says which one it has, so that ranks need not agree on it.
#pragma once

#include "collectives/interface/env.hpp"

namespace sparsecoll {

/// Returns whether plain messages to this peer take less time than coded ones.
bool plain_is_fastest(const Env& env, int peer);

/// Returns whether that holds for all other ranks, which all get the same message.
bool plain_is_fastest_to_all(const Env& env);

/// Returns a peer's message as the backend can read it: the message itself, or a coded copy of one
/// that is plain, if the backend is a device.
ConstBytes readable(Env& env, const Message& message);

}  // namespace sparsecoll
