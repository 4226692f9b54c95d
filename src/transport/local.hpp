// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "transport/transport.hpp"

namespace sparsecoll {

/// A fault that a test injects into one message.
struct MessageFault {
  bool drop = false;         ///< the message is never received
  bool kill_sender = false;  ///< this message and all later ones of the sender are lost without
                             ///< notice
  std::chrono::microseconds delay{0};
  size_t corrupt_byte = kAll;  ///< the byte at this index (modulo the size) is inverted
};

/// Returns the fault of a message from `sender` to `receiver`. `number` counts the messages of the
/// sender to all receivers, from 0. The threads of the senders call the function.
using FaultPlan = std::function<MessageFault(int sender, int receiver, size_t number)>;

/// Returns one transport per rank; the ranks are threads of this process. The sender copies a
/// message once, into a buffer of the receiver's pool, or not at all if the message was handed
/// over. Sending never waits. Only the order between messages of different senders depends on
/// timing. `recovery_plan`: faults of the messages of recovery().
std::vector<std::unique_ptr<Transport>> make_local_transports(int ranks, const FaultPlan& plan = {},
                                                              const FaultPlan& recovery_plan = {});

}  // namespace sparsecoll
