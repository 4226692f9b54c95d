// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <stdexcept>

#include "devices/device_ranks.hpp"

namespace sparsecoll::devices {

std::vector<sparsecollComm_t> make_device_comms(int P, const sparsecollConfig_t& config, On) {
  std::vector<sparsecollComm_t> comms(static_cast<std::size_t>(P));
  if (sparsecollCommInitAll(comms.data(), P, nullptr, &config) != sparsecollSuccess)
    throw std::runtime_error(sparsecollGetLastError(nullptr));
  return comms;
}

void use_device_of(int, On) {}

bool over_nccl() { return false; }
int max_ranks() { return std::numeric_limits<int>::max(); }

}  // namespace sparsecoll::devices
