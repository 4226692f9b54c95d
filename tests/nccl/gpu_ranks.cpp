// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "nccl/gpu_ranks.hpp"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "device/nccl.hpp"  // of perf; finds NCCL

namespace sparsecoll::nccl_tests {

namespace {

[[noreturn]] void skip(const std::string& why) {
  std::printf("SKIPPED: %s\n", why.c_str());
  std::fflush(stdout);
  std::_Exit(77);
}

perf::Nccl open_or_skip() {
  try {
    return perf::open_nccl();
  } catch (const std::runtime_error& error) {
    skip(error.what());
  }
}

/// Runs body(rank) in a thread for each rank, and throws what is wrong.
void on_threads(const std::string& what, int P, const std::function<std::string(int)>& body) {
  const std::string verdict = test::run_threads(what, P, [&](int rank) {
    devices::check(cudaSetDevice(0));
    return body(rank);
  });
  if (!verdict.empty()) throw std::runtime_error(verdict);
}

}  // namespace

GpuUserComms::GpuUserComms(int P) : comms_(static_cast<std::size_t>(P)) {
  const perf::Nccl nccl = open_or_skip();
  // Most versions of NCCL refuse ranks that share a GPU.
  const auto check = [&nccl, P](ncclResult_t result, const char* call) {
    if (result == ncclSuccess) return;
    const std::string what = std::string(call) + ": " + nccl.error_string(result);
    if (P > 1 && result == ncclInvalidUsage) skip(what);
    throw std::runtime_error(what);
  };
  ncclUniqueId id{};
  check(nccl.unique_id(&id), "ncclGetUniqueId");
  on_threads("init of NCCL", P, [&](int rank) -> std::string {
    check(nccl.init_rank(&comms_[static_cast<std::size_t>(rank)], P, id, rank), "ncclCommInitRank");
    return "";
  });
}

GpuUserComms::~GpuUserComms() {
  const perf::Nccl nccl = open_or_skip();
  test::run_threads("end of NCCL", static_cast<int>(comms_.size()), [&](int rank) {
    nccl.destroy(comms_[static_cast<std::size_t>(rank)]);
    return std::string();
  });
}

std::vector<sparsecollComm_t> connect_on_gpu(int P, const sparsecollConfig_t& config) {
  const GpuUserComms user_comms(P);
  std::vector<sparsecollComm_t> comms(static_cast<std::size_t>(P));
  on_threads("init over NCCL", P, [&](int rank) -> std::string {
    const sparsecollResult_t result =
        sparsecollCommInitNccl(&comms[static_cast<std::size_t>(rank)], user_comms[rank], &config);
    return result == sparsecollSuccess ? "" : sparsecollGetLastError(nullptr);
  });
  return comms;
}

GpuRanks::GpuRanks(int P) : test::Ranks(connect_on_gpu(P, test::default_config())) {
  devices::deferred_frees().ranks_begin();
}

std::string GpuRanks::run(const std::string& what,
                          const std::function<std::string(int)>& body) const {
  return test::Ranks::run(what, [&](int rank) {
    devices::check(cudaSetDevice(0));
    return body(rank);
  });
}

}  // namespace sparsecoll::nccl_tests
