// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Replaces src/transport/nccl/library.cpp in tests, whose process has the stand-in as its NCCL.
#include "nccl/stand_in_library.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "transport/nccl/library.hpp"

namespace sparsecoll {

namespace {

std::mutex mutex;
std::map<ncclComm_t, ncclComm_t> children;  // by parent
std::function<bool()> hook_of_splits;

bool may_split() {
  std::unique_lock lock(mutex);
  const auto hook = hook_of_splits;
  lock.unlock();
  return !hook || hook();
}

ncclResult_t split(ncclComm_t comm, int color, int key, ncclComm_t* child, ncclConfig_t* config) {
  if (!may_split()) return ncclSystemError;
  const ncclResult_t result = ncclCommSplit(comm, color, key, child, config);
  if (result == ncclSuccess) {
    const std::lock_guard lock(mutex);
    children[comm] = *child;
  }
  return result;
}

}  // namespace

ncclComm_t nccl_tests::last_child_of(ncclComm_t parent) {
  const std::lock_guard lock(mutex);
  const auto found = children.find(parent);
  return found == children.end() ? nullptr : found->second;
}

void nccl_tests::before_splits(std::function<bool()> hook) {
  const std::lock_guard lock(mutex);
  hook_of_splits = std::move(hook);
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
          .receive = ncclRecv,
          .reduce_scatter = ncclReduceScatter,
          .comm_shrink = ncclCommShrink};
}

}  // namespace sparsecoll
