// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

namespace sparsecoll::nccl {

/// The oldest version of NCCL that is supported.
inline constexpr int kOldestVersion = NCCL_VERSION(2, 28, 0);

/// The functions of the NCCL library that made the user's communicator. sparsecoll does not link
/// NCCL. So it can be loaded where there is no NCCL, and no process gets two copies of NCCL.
struct Library {
  decltype(&ncclGetVersion) get_version;
  decltype(&ncclGetErrorString) error_string;
  decltype(&ncclGetLastError) last_error;
  decltype(&ncclCommSplit) comm_split;
  decltype(&ncclCommCount) comm_count;
  decltype(&ncclCommUserRank) comm_rank;
  decltype(&ncclCommCuDevice) comm_device;
  decltype(&ncclCommGetAsyncError) async_error;
  decltype(&ncclCommFinalize) comm_finalize;
  decltype(&ncclCommDestroy) comm_destroy;
  decltype(&ncclCommAbort) comm_abort;
  decltype(&ncclGroupStart) group_start;
  decltype(&ncclGroupEnd) group_end;
  decltype(&ncclSend) send;
  decltype(&ncclRecv) receive;
  decltype(&ncclReduceScatter) reduce_scatter;
  decltype(&ncclCommShrink) comm_shrink;
};

/// Finds NCCL in this process. Throws InvalidUsage if there is none, or if a function is missing
/// that communicators cannot do without.
Library open_nccl_library();

}  // namespace sparsecoll::nccl
