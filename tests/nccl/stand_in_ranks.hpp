// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ranks that are threads, each with a communicator of the stand-in, for the tests of the stand-in.

#include <nccl_stand_in.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "devices/device_array.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::nccl_test {

using devices::DeviceArray;
using devices::OwnStream;
using Values = std::vector<int>;

inline void check(ncclResult_t result) {
  if (result != ncclSuccess)
    throw std::runtime_error(std::string(ncclGetErrorString(result)) + ": " +
                             ncclGetLastError(nullptr));
}
using devices::check;

/// The communicators of ranks on devices of their own. The destructor destroys those that are left.
class Communicators {
 public:
  explicit Communicators(int size) : comms_(static_cast<std::size_t>(size)) {
    check(ncclCommInitAll(comms_.data(), size, nullptr));
  }
  ~Communicators() {
    for (const ncclComm_t comm : comms_) ncclCommDestroy(comm);
  }
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  ncclComm_t operator[](int rank) const { return comms_[static_cast<std::size_t>(rank)]; }
  int size() const { return static_cast<int>(comms_.size()); }
  void abort(int rank) {
    check(ncclCommAbort(std::exchange(comms_[static_cast<std::size_t>(rank)], nullptr)));
  }
  /// Runs body(rank) in a thread for each rank, with its device as the current one.
  template <class Body>
  std::string run(const Body& body) const {
    return test::run_threads("rank", size(), [&](int rank) {
      check(cudaSetDevice(rank));
      return std::string(body(rank));
    });
  }

 private:
  std::vector<ncclComm_t> comms_;
};

/// Sends to the next rank and receives from the previous one, in one group.
inline void exchange_around(const DeviceArray<int>& from, const DeviceArray<int>& to,
                            ncclComm_t comm, cudaStream_t stream) {
  int rank = 0, size = 0;
  check(ncclCommUserRank(comm, &rank));
  check(ncclCommCount(comm, &size));
  check(ncclGroupStart());
  check(ncclSend(from.get(), from.size(), ncclInt32, (rank + 1) % size, comm, stream));
  check(ncclRecv(to.get(), to.size(), ncclInt32, (rank + size - 1) % size, comm, stream));
  check(ncclGroupEnd());
}

inline void copy(const DeviceArray<int>& from, const DeviceArray<int>& to, cudaStream_t stream) {
  check(cudaMemcpyAsync(to.get(), from.get(), from.size() * sizeof(int), cudaMemcpyDeviceToDevice,
                        stream));
}

/// Queries the state until it is no longer "in progress". Returns how often it was.
inline int wait_until_ready(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  int polls = -1;
  for (; state == ncclInProgress; ++polls) check(ncclCommGetAsyncError(comm, &state));
  check(state);
  return polls;
}

inline ncclConfig_t non_blocking() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}

}  // namespace sparsecoll::nccl_test
