// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ranks that work with memory of devices, over what the program was linked with: threads_ranks.cpp,
// or NCCL (../nccl/nccl_ranks.cpp).

#include "devices/device_array.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::devices {

/// Handles of P communicators; throws std::runtime_error.
std::vector<sparsecollComm_t> make_device_comms(int P, const sparsecollConfig_t& config);
/// Messages go from device to device, in the order of streams.
bool over_nccl();

class DeviceRanks : public test::Ranks {
 public:
  DeviceRanks(int P, const sparsecollConfig_t& config)
      : test::Ranks(make_device_comms(P, config)) {}
  ~DeviceRanks() { later().free_all(); }
};

}  // namespace sparsecoll::devices
