// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What tests ask of the stand-in, and what they do to it.

#include <nccl.h>

#include <cstddef>
#include <string>

namespace nccl_stand_in {

/// The n-th call of NCCL from now on gives ncclSystemError and does nothing else (1 = the next
/// one); 0 = none. Not those that give something back: ncclCommDestroy and ncclCommAbort.
void fail_at(std::size_t n);

/// The rank's asynchronous error is ncclRemoteError from now on, and what it has not sent or
/// received yet waits until its communicator is aborted.
void break_rank(ncclComm_t comm);

/// Groups that went to a stream, in this process: one for every communicator in it, and one for
/// every launch of a graph that holds it. A send or receive by itself is a group.
std::size_t groups_launched();

/// Communicators that were made and neither destroyed nor aborted.
std::size_t communicators();

/// Calls of blocking communicators that wait for what other ranks call.
std::size_t waiting();

/// What is left of them and of their groups, in words; "" when nothing is.
std::string leftovers();

}  // namespace nccl_stand_in
