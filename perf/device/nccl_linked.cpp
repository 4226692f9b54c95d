// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "device/nccl.hpp"

namespace sparsecoll::perf {

Nccl open_nccl() {
  return {ncclGetErrorString, ncclGetUniqueId, ncclCommInitRank, ncclCommDestroy};
}

}  // namespace sparsecoll::perf
