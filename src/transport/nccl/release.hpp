// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/deadline.hpp"
#include "transport/nccl/library.hpp"

namespace sparsecoll::nccl {

/// An NCCL communicator that is not used any more and must be released.
struct RetiredCommunicator {
  Library library;
  ncclComm_t comm;
  int device;
  /// NCCL writes, or has written, the result of an unfinished split or shrink here. May be null.
  std::unique_ptr<ncclComm_t> pending_child;
};

/// Calls ncclCommDestroy(). Returns false if it has not returned when the deadline passes; it then
/// continues in a thread of its own.
bool destroy(RetiredCommunicator retired, const Deadline& deadline) noexcept;
/// Calls ncclCommAbort(), which first ends all queued operations. Waits for half a second at most;
/// the call then continues in a thread of its own.
void abort(RetiredCommunicator retired) noexcept;

}  // namespace sparsecoll::nccl
