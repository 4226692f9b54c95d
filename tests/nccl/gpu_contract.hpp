// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "nccl/contract_ranks.hpp"
#include "nccl/gpu_ranks.hpp"

namespace sparsecoll::nccl_tests {

/// Runs all cases of the contract of StreamTransport on P ranks that share the first device.
/// Returns "" or what is wrong.
inline std::string contract_on_gpu(int P) {
  const GpuUserComms user_comms(P);
  const ContractRanks ranks{user_comms.comms(), std::vector<int>(static_cast<std::size_t>(P))};
  std::string wrong;
  for (const auto& each : stream_contract::cases()) wrong += run_contract(each, ranks);
  return wrong;
}

}  // namespace sparsecoll::nccl_tests
