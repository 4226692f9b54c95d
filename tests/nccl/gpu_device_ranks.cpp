// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Ranks for the tests of ../devices on a GPU. They are threads, as in threads_ranks.cpp, or use
// NCCL if SPARSECOLL_TEST_TRANSPORT=nccl. Over NCCL there is one rank, because most versions refuse
// two on one device, or as many as SPARSECOLL_TEST_RANKS says.

#include <cstdlib>
#include <limits>
#include <stdexcept>

#include "devices/device_ranks.hpp"
#include "nccl/gpu_ranks.hpp"

namespace sparsecoll::devices {

std::vector<sparsecollComm_t> make_device_comms(int P, const sparsecollConfig_t& config, On) {
  if (over_nccl()) return nccl_tests::connect_on_gpu(P, config);
  std::vector<sparsecollComm_t> comms(static_cast<std::size_t>(P));
  if (sparsecollCommInitAll(comms.data(), P, nullptr, &config) != sparsecollSuccess)
    throw std::runtime_error(sparsecollGetLastError(nullptr));
  return comms;
}

void use_device_of(int, On) {
  if (over_nccl()) check(cudaSetDevice(0));
}

bool over_nccl() {
  const char* const transport = std::getenv("SPARSECOLL_TEST_TRANSPORT");
  if (!transport) return false;
  if (std::string(transport) != "nccl")
    throw std::runtime_error("SPARSECOLL_TEST_TRANSPORT: expected nccl");
  return true;
}

int max_ranks() {
  if (!over_nccl()) return std::numeric_limits<int>::max();
  const std::string ranks = std::getenv("SPARSECOLL_TEST_RANKS") ?: "1";
  if (ranks != "1" && ranks != "2")
    throw std::runtime_error("SPARSECOLL_TEST_RANKS: expected 1 or 2, got " + ranks);
  return ranks == "1" ? 1 : 2;
}

}  // namespace sparsecoll::devices
