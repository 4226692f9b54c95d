// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

namespace sparsecoll::nccl {

inline constexpr int kOldestVersion = NCCL_VERSION(2, 28, 0);

/// The calls of the NCCL that made the caller's communicator. The library does not link NCCL: its
/// users who have none can load it all the same, and no process gets two of them.
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
};

/// Throws InvalidUsage when there is none in this process.
Library open_nccl_library();

}  // namespace sparsecoll::nccl
