// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ranks that are threads, each with a communicator of NCCL as a user of the library has one.

#include <nccl.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "devices/device_array.hpp"
#include "nccl_stand_in.hpp"
#include "simt/engine.hpp"
#include "support/ranks.hpp"
#include "transport/stream_transport.hpp"

namespace sparsecoll::nccl_tests {

using devices::DeviceArray;
using devices::OwnStream;
using test::run_threads;

/// Returns a deadline that passes only if a rank hangs.
inline Deadline no_deadline() { return Deadline::after(60000); }
inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

inline void check_nccl(ncclResult_t result) {
  if (result != ncclSuccess && result != ncclInProgress)
    throw std::runtime_error(ncclGetErrorString(result));
}

/// The communicators of NCCL that the user of each rank has made.
class UserComms {
 public:
  explicit UserComms(int P, bool blocking = true) : comms_(static_cast<size_t>(P)) {
    ncclUniqueId id{};
    check_nccl(ncclGetUniqueId(&id));
    const std::string verdict = run_threads("user communicators", P, [&](int r) {
      devices::check(cudaSetDevice(device(r)));
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = blocking ? 1 : 0;
      check_nccl(ncclCommInitRankConfig(&comms_[static_cast<size_t>(r)], P, id, r, &config));
      return std::string();
    });
    if (!verdict.empty()) throw std::runtime_error(verdict);
  }
  ~UserComms() {
    for (const ncclComm_t comm : comms_) ncclCommAbort(comm);
  }
  UserComms(const UserComms&) = delete;
  UserComms& operator=(const UserComms&) = delete;

  /// Returns the device of a rank. Each has its own if there are as many.
  static int device(int rank) { return rank % simt::kDevices; }
  int size() const { return static_cast<int>(comms_.size()); }
  ncclComm_t operator[](int rank) const { return comms_[static_cast<size_t>(rank)]; }

 private:
  std::vector<ncclComm_t> comms_;
};

}  // namespace sparsecoll::nccl_tests
