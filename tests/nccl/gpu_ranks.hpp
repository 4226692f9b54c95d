// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ranks that share the first device, over the NCCL that the process finds: a real one, or the
// stand-in where the tests run without a GPU.

#include <functional>
#include <string>
#include <vector>

#include "devices/device_array.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::nccl_tests {

/// Handles of P communicators. Ends the process as a test that was skipped where there is no NCCL,
/// or one that does not make such communicators.
std::vector<sparsecollComm_t> connect_on_gpu(int P, const sparsecollConfig_t& config);

class GpuRanks : public test::Ranks {
 public:
  /// As connect_on_gpu().
  explicit GpuRanks(int P);
  ~GpuRanks() { devices::later().ranks_end(); }

  /// test::Ranks::run() on the device.
  std::string run(const std::string& what, const std::function<std::string(int)>& body) const;
};

}  // namespace sparsecoll::nccl_tests
