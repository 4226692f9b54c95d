// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ranks that share the first device, over the NCCL that the process finds: a real one, or the
// stand-in where the tests run without a GPU. If there is no NCCL, or it does not make the
// communicators, they end the process as a test that was skipped.

#include <nccl.h>

#include <functional>
#include <string>
#include <vector>

#include "devices/device_array.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::nccl_tests {

/// The communicators of NCCL that the user of each rank has made.
class GpuUserComms {
 public:
  explicit GpuUserComms(int P);
  ~GpuUserComms();
  GpuUserComms(const GpuUserComms&) = delete;
  GpuUserComms& operator=(const GpuUserComms&) = delete;

  ncclComm_t operator[](int rank) const { return comms_[static_cast<std::size_t>(rank)]; }
  const std::vector<ncclComm_t>& comms() const { return comms_; }

 private:
  std::vector<ncclComm_t> comms_;
};

/// Returns handles of P communicators.
std::vector<sparsecollComm_t> connect_on_gpu(int P, const sparsecollConfig_t& config);

/// P ranks with a communicator each.
class GpuRanks : public test::Ranks {
 public:
  explicit GpuRanks(int P);
  ~GpuRanks() { devices::deferred_frees().ranks_end(); }

  /// Does the same as test::Ranks::run(), with the first device as the current one.
  std::string run(const std::string& what, const std::function<std::string(int)>& body) const;
};

}  // namespace sparsecoll::nccl_tests
