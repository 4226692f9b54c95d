// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <functional>

namespace sparsecoll::nccl_tests {

/// Returns the communicator that the library has split last from `parent`, so that a test can break
/// it. Returns null if there is none or `parent` is non-blocking.
ncclComm_t last_child_of(ncclComm_t parent);

/// Calls `hook` at the begin of every ncclCommSplit() of the library, which fails if it returns
/// false. An empty function ends that.
void before_splits(std::function<bool()> hook);

}  // namespace sparsecoll::nccl_tests
