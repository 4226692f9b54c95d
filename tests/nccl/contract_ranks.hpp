// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The contract of StreamTransport, run by ranks over NCCL that are threads.

#include <nccl.h>

#include <functional>
#include <string>
#include <vector>

#include "transport/stream_contract.hpp"

namespace sparsecoll::nccl_tests {

/// The ranks that run a case, by their communicators, from which transports are split.
struct ContractRanks {
  std::vector<ncclComm_t> comms = {};
  std::vector<int> devices = {};  ///< of each rank
  /// Breaks the last communicator that was split from this one. Returns false if it cannot. May be
  /// empty.
  std::function<bool(ncclComm_t)> break_child = {};
};

/// Runs the case with fresh transports, each rank in a thread under a hang guard. Returns "" or
/// what is wrong on any rank.
std::string run_contract(const stream_contract::Case& which, const ContractRanks& ranks);

}  // namespace sparsecoll::nccl_tests
