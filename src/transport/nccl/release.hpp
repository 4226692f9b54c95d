// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/deadline.hpp"
#include "transport/nccl/library.hpp"

namespace sparsecoll::nccl {

/// What is left of a communicator that nobody uses any more.
struct Remains {
  Library library;
  ncclComm_t comm;
  int device;
  /// Where NCCL puts a part of it, or has put one, if a split was under way; may be null.
  std::unique_ptr<ncclComm_t> part;
};

/// ncclCommDestroy(). False when the deadline has passed; it goes on, without being waited for.
bool destroy(Remains remains, const Deadline& deadline) noexcept;
/// ncclCommAbort(), likewise waited for a moment at most. First of all it makes what is queued end.
void abort(Remains remains) noexcept;

}  // namespace sparsecoll::nccl
