// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Errors, and the functions of nccl_stand_in.hpp.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <nccl_stand_in.hpp>
#include <thread>

#include "state.hpp"

namespace nccl_stand_in {

namespace {

std::atomic<size_t> fail_in{0};
thread_local std::string last_error;

}  // namespace

ncclResult_t fail(ncclResult_t result, const std::string& message) {
  last_error = message;
  return result;
}

bool must_fail() {
  for (size_t n = fail_in; n > 0;)
    if (fail_in.compare_exchange_weak(n, n - 1)) return n == 1;
  return false;
}
ncclResult_t injected_failure() { return fail(ncclSystemError, "injected failure"); }

size_t fail_at(size_t n) { return fail_in.exchange(n); }

void break_rank(ncclComm_t comm) {
  const Lock lock(simt::mutex);
  if (check(comm) != ncclSuccess) simt::stop("break_rank: expected a communicator, got NULL");
  comm->broken = true;
  simt::note_change();
}

void die_in_group(ncclComm_t comm, size_t n) {
  const Lock lock(simt::mutex);
  if (check(comm) != ncclSuccess) simt::stop("die_in_group: expected a communicator, got NULL");
  comm->dies_in = n;
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

size_t communicators_in_the_end(size_t most) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  size_t left = communicators();
  while (left > most && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    left = communicators();
  }
  return left;
}

std::string not_ended() {
  const Lock lock(simt::mutex);
  std::string text;
  for (const ncclComm_t comm : communicators_ever()) {
    if (comm->gone) continue;
    text += "rank " + std::to_string(comm->rank) + " of " + std::to_string(comm->clique->size) +
            " on device " + std::to_string(comm->device) + " was not ended";
    text += is_idle(comm) ? "; " : ", with groups that have not run; ";
  }
  return text;
}

std::string leftovers() {
  communicators_in_the_end(0);
  return not_ended();
}

}  // namespace nccl_stand_in

using namespace nccl_stand_in;

ncclResult_t ncclGetVersion(int* version) {
  if (must_fail()) return injected_failure();
  if (!version) return fail(ncclInvalidArgument, "version is null");
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetLastError(ncclComm_t) { return last_error.c_str(); }

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
