// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

namespace sparsecoll::perf {

/// What the programs call of NCCL by themselves.
struct Nccl {
  decltype(&ncclGetErrorString) error_string;
  decltype(&ncclGetUniqueId) unique_id;
  decltype(&ncclCommInitRank) init_rank;
  decltype(&ncclCommDestroy) destroy;
};

/// NCCL is not linked, so that the programs start where there is none: libnccl.so.2 is loaded, by
/// nccl_library.cpp. (The tests' stand-in is linked: nccl_linked.cpp.) Throws where there is none.
Nccl open_nccl();

}  // namespace sparsecoll::perf
