// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

namespace sparsecoll::perf {

/// The functions of NCCL that the programs call.
struct Nccl {
  decltype(&ncclGetErrorString) error_string;
  decltype(&ncclGetUniqueId) unique_id;
  decltype(&ncclCommInitRank) init_rank;
  decltype(&ncclCommDestroy) destroy;
};

/// Returns NCCL's functions. nccl_library.cpp loads libnccl.so.2, so that the programs start on
/// hosts without NCCL; it throws std::runtime_error there. Tests link a stand-in of NCCL:
/// nccl_linked.cpp.
Nccl open_nccl();

}  // namespace sparsecoll::perf
