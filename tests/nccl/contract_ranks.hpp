// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs the contract of StreamTransport on ranks over NCCL that are threads.

#include <nccl.h>

#include <functional>
#include <string>
#include <vector>

#include "transport/stream_contract.hpp"

namespace sparsecoll::nccl_tests {

/// The ranks that run a case. Their transports are split from `comms`.
struct ContractRanks {
  std::vector<ncclComm_t> comms = {};
  std::vector<int> devices = {};  ///< by rank
  /// Breaks the communicator that was split last from its argument. Returns false if it cannot. May
  /// be empty.
  std::function<bool(ncclComm_t)> break_child = {};
};

/// Runs the case with fresh transports, each rank in a thread under a hang guard, and again if it
/// was late. Returns "" or what is wrong on any rank.
std::string run_contract(const stream_contract::Case& which, const ContractRanks& ranks);

}  // namespace sparsecoll::nccl_tests
