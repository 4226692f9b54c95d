// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Ranks over NCCL for the tests of ../devices.

#include <nccl.h>

#include <limits>
#include <stdexcept>

#include "devices/device_ranks.hpp"

namespace sparsecoll::devices {

namespace {

void check(ncclResult_t result) {
  if (result != ncclSuccess) throw std::runtime_error(ncclGetErrorString(result));
}

}  // namespace

std::vector<sparsecollComm_t> make_device_comms(int P, const sparsecollConfig_t& config, On on) {
  std::vector<sparsecollComm_t> comms(static_cast<std::size_t>(P));
  ncclUniqueId id{};
  check(ncclGetUniqueId(&id));
  const std::string verdict = test::run_threads("init over NCCL", P, [&](int rank) {
    use_device_of(rank, on);
    ncclComm_t user_comm = nullptr;
    check(ncclCommInitRank(&user_comm, P, id, rank));
    const sparsecollResult_t result =
        sparsecollCommInitNccl(&comms[static_cast<std::size_t>(rank)], user_comm, &config);
    const std::string problem = result == sparsecollSuccess ? "" : sparsecollGetLastError(nullptr);
    check(ncclCommDestroy(user_comm));
    return problem;
  });
  if (!verdict.empty()) throw std::runtime_error(verdict);
  return comms;
}

void use_device_of(int rank, On on) {
  int devices = 1;
  if (on == On::own) devices::check(cudaGetDeviceCount(&devices));
  devices::check(cudaSetDevice(rank % devices));
}

bool over_nccl() { return true; }
int max_ranks() { return std::numeric_limits<int>::max(); }

}  // namespace sparsecoll::devices
