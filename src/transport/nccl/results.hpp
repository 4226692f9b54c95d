// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/nccl/library.hpp"

namespace sparsecoll::nccl {

/// Throws InvalidUsage for an NCCL older than kOldestVersion.
void require_version(const Library& library);

/// Throws what a result other than success and "in progress" means of a communicator of this
/// library: always a fatal code, because the ranks disagree from then on.
void require_own(const Library& library, ncclResult_t result, const char* call);
/// The same of the caller's communicator, where it may have been his mistake.
void require_callers(const Library& library, ncclResult_t result, const char* call);

}  // namespace sparsecoll::nccl
