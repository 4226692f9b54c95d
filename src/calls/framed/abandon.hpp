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
/// drops all other frames of the call. Throws `problem`, what is wrong with this rank's arguments;
/// if that is null, InvalidUsage with what is wrong on other ranks.
[[noreturn]] void abandon_call(Channel& channel, FrameSender& sender,
                               const CallParameters& parameters, const CallIdentity& identity,
                               const Error* problem);

}  // namespace sparsecoll
