// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Instead of src/transport/nccl/library.cpp: the stand-in is the NCCL of a test's process.
#include "nccl/stand_in_library.hpp"

#include <map>
#include <mutex>

#include "transport/nccl/library.hpp"

namespace sparsecoll {

namespace {

std::mutex mutex;
std::map<ncclComm_t, ncclComm_t> parts;

ncclResult_t split(ncclComm_t comm, int color, int key, ncclComm_t* part, ncclConfig_t* config) {
  const ncclResult_t result = ncclCommSplit(comm, color, key, part, config);
  if (result == ncclSuccess) {
    const std::lock_guard lock(mutex);
    parts[comm] = *part;
  }
  return result;
}

}  // namespace

ncclComm_t nccl_tests::last_part_of(ncclComm_t callers) {
  const std::lock_guard lock(mutex);
  const auto found = parts.find(callers);
  return found == parts.end() ? nullptr : found->second;
}

nccl::Library nccl::open_nccl_library() {
  return {.get_version = ncclGetVersion,
          .error_string = ncclGetErrorString,
          .last_error = ncclGetLastError,
          .comm_split = split,
          .comm_count = ncclCommCount,
          .comm_rank = ncclCommUserRank,
          .comm_device = ncclCommCuDevice,
          .async_error = ncclCommGetAsyncError,
          .comm_finalize = ncclCommFinalize,
          .comm_destroy = ncclCommDestroy,
          .comm_abort = ncclCommAbort,
          .group_start = ncclGroupStart,
          .group_end = ncclGroupEnd,
          .send = ncclSend,
          .receive = ncclRecv};
}

}  // namespace sparsecoll
