// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Errors, and what only tests use.

#include <algorithm>
#include <atomic>
#include <nccl_stand_in.hpp>

#include "state.hpp"

namespace nccl_stand_in {

namespace {

std::atomic<size_t> fail_in{0};
thread_local std::string last_words;

}  // namespace

ncclResult_t fail(ncclResult_t result, const std::string& words) {
  last_words = words;
  return result;
}

bool fails() {
  for (size_t n = fail_in; n > 0;)
    if (fail_in.compare_exchange_weak(n, n - 1)) return n == 1;
  return false;
}
ncclResult_t told_to_fail() { return fail(ncclSystemError, "a failure that was asked for"); }

void fail_at(size_t n) { fail_in = n; }

void break_rank(ncclComm_t comm) {
  const Lock lock(simt::mutex);
  if (check(comm) != ncclSuccess) simt::stop("break_rank of no communicator");
  comm->broken = true;
  simt::note_change();
}

size_t groups_launched() {
  const Lock lock(simt::mutex);
  return launched();
}

size_t communicators() {
  const Lock lock(simt::mutex);
  const auto& all = communicators_ever();
  return static_cast<size_t>(
      std::count_if(all.begin(), all.end(), [](ncclComm_t comm) { return !comm->gone; }));
}

size_t waiting() {
  const Lock lock(simt::mutex);
  size_t threads = 0;
  for (const ncclComm_t comm : communicators_ever()) threads += static_cast<size_t>(comm->inside);
  return threads;
}

std::string leftovers() {
  const Lock lock(simt::mutex);
  std::string words;
  for (const ncclComm_t comm : communicators_ever()) {
    if (comm->gone) continue;
    words += "rank " + std::to_string(comm->rank) + " of " + std::to_string(comm->clique->size) +
             " on device " + std::to_string(comm->device) + " was not ended";
    words += is_idle(comm) ? "; " : ", with groups that have not run; ";
  }
  return words;
}

}  // namespace nccl_stand_in

using namespace nccl_stand_in;

ncclResult_t ncclGetVersion(int* version) {
  if (fails()) return told_to_fail();
  if (!version) return fail(ncclInvalidArgument, "version is null");
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetLastError(ncclComm_t) { return last_words.c_str(); }

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (stand-in)";
    case ncclSystemError:
      return "unhandled system error (stand-in)";
    case ncclInternalError:
      return "internal error (stand-in)";
    case ncclInvalidArgument:
      return "invalid argument (stand-in)";
    case ncclInvalidUsage:
      return "invalid usage (stand-in)";
    case ncclRemoteError:
      return "remote process exited or there was a network error (stand-in)";
    case ncclInProgress:
      return "NCCL operation in progress (stand-in)";
    case ncclNumResults:
      break;
  }
  return "unknown result code";
}
