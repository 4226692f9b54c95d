// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

namespace sparsecoll::nccl_tests {

/// The last communicator that was split from that one, which blocks; null: none. For a test that
/// breaks what belongs to the library.
ncclComm_t last_part_of(ncclComm_t callers);

}  // namespace sparsecoll::nccl_tests
