// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ranks that work with device memory. The linked source decides how they communicate:
// threads_ranks.cpp, or ../nccl/nccl_ranks.cpp over NCCL.

#include <algorithm>

#include "devices/device_array.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::devices {

/// `first`: all ranks use the first device. `own`: over NCCL, each rank uses its own device if
/// there are enough. Ranks that share a device must not free memory (cudaFree) while others wait
/// for them.
enum class On { first, own };
/// Creates P communicators. Throws std::runtime_error.
std::vector<sparsecollComm_t> make_device_comms(int P, const sparsecollConfig_t& config, On on);
/// Makes the device of a rank the current device of the calling thread.
void use_device_of(int rank, On on);
/// Returns whether messages are sent over NCCL, in stream order.
bool over_nccl();
/// Returns the largest number of ranks. Tests with more use this number.
int max_ranks();
/// Returns `wanted` without duplicates, each limited to max_ranks().
inline std::vector<int> limit_rank_counts(std::vector<int> wanted) {
  for (int& P : wanted) P = std::min(P, max_ranks());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  return wanted;
}

class DeviceRanks : public test::Ranks {
 public:
  DeviceRanks(int P, const sparsecollConfig_t& config, On on = On::first)
      : test::Ranks(make_device_comms(P, config, on)), on_(on) {
    deferred_frees().ranks_begin();
  }
  ~DeviceRanks() { deferred_frees().ranks_end(); }

  std::string run(const std::string& what, const std::function<std::string(int)>& body) const {
    return test::Ranks::run(what, [&](int rank) {
      use_device_of(rank, on_);
      return body(rank);
    });
  }

 private:
  On on_;
};

}  // namespace sparsecoll::devices
