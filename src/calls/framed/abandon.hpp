// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/call.hpp"
#include "calls/descriptor.hpp"
#include "calls/framed/channel.hpp"
#include "calls/framed/frame_sender.hpp"

namespace sparsecoll {

/// Throws RemoteError if this frame shows that its sender called pushSumStep instead of this call.
/// The peer communicates with its neighbours only, so that the ranks cannot abandon the call
/// together.
void refuse_gossip(const CallParameters& parameters, const Descriptor& descriptor, int peer,
                   const Frame& frame);

/// Abandons a call on all ranks: sends this rank's arguments to all others, receives theirs, and
/// drops all other frames of the call. Throws `problem`, the error of this rank's arguments, or
/// InvalidUsage with the reason of other ranks if it is null.
[[noreturn]] void abandon_call(Channel& channel, FrameSender& sender,
                               const CallParameters& parameters, const CallIdentity& identity,
                               const Error* problem);

}  // namespace sparsecoll
