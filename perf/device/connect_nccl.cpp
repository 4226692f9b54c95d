// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// --transport nccl: ranks are threads, each with a GPU.
#include <algorithm>
#include <set>
#include <stdexcept>

#include "common/ranks.hpp"
#include "device/nccl.hpp"

namespace sparsecoll::perf {
namespace {

void check(const Nccl& nccl, ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + nccl.error_string(result));
}

/// Owns the NCCL communicator from which the library makes its own. Collective. It can be destroyed
/// after that.
class NcclCommunicator {
 public:
  NcclCommunicator(const Nccl& nccl, Ranks& ranks, int device) : nccl_(nccl) {
    ncclUniqueId id{};
    if (ranks.rank() == 0) check(nccl, nccl.unique_id(&id), "ncclGetUniqueId");
    id = ranks.gather_value(id)[0];
    const auto devices = ranks.gather_value(device);
    const std::set<int> distinct(devices.begin(), devices.end());
    const ncclResult_t result = nccl.init_rank(&comm_, ranks.size(), id, ranks.rank());
    if (result != ncclSuccess && distinct.size() < devices.size())
      throw std::runtime_error(
          std::string("ncclCommInitRank: ") + nccl.error_string(result) + "; " +
          std::to_string(devices.size()) + " ranks share " + std::to_string(distinct.size()) +
          " GPU(s), which most versions of NCCL refuse: -t must be at most the number of GPUs");
    check(nccl, result, "ncclCommInitRank");
  }
  ~NcclCommunicator() { nccl_.destroy(comm_); }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  ncclComm_t get() const { return comm_; }

 private:
  const Nccl& nccl_;
  ncclComm_t comm_ = nullptr;
};

}  // namespace

bool nccl_available() { return true; }

Communicator connect_nccl(Ranks& ranks, const sparsecollConfig_t& config) {
  const Nccl nccl = open_nccl();
  const NcclCommunicator nccl_communicator(nccl, ranks, config.device);
  sparsecollComm_t comm = nullptr;
  require(sparsecollCommInitNccl(&comm, nccl_communicator.get(), &config), nullptr,
          "sparsecollCommInitNccl");
  return Communicator(comm);
}

}  // namespace sparsecoll::perf
