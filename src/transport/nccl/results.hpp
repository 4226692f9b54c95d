// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/nccl/library.hpp"

namespace sparsecoll::nccl {

/// Throws InvalidUsage if NCCL is older than kOldestVersion.
void require_version(const Library& library);

/// Throws an error unless `result`, of a call on the transport's own communicator, is success or
/// "in progress". The code is always a fatal one, because the ranks disagree from then on.
void require_own_call(const Library& library, ncclResult_t result, const char* call);
/// Throws an error as above, for calls on the user's communicator. The code is InvalidArgument or
/// InvalidUsage if NCCL reports these, because the user may have made a mistake.
void require_user_call(const Library& library, ncclResult_t result, const char* call);

}  // namespace sparsecoll::nccl
