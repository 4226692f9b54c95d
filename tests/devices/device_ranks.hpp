// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ranks that work with memory of devices, over what the program was linked with: threads_ranks.cpp,
// or NCCL (../nccl/nccl_ranks.cpp).

#include <algorithm>

#include "devices/device_array.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::devices {

/// Ranks on the first device, or, over NCCL where there are as many, on one each: those that share
/// one must not give memory back while others wait for them (cudaFree).
enum class On { first, own };
/// Handles of P communicators; throws std::runtime_error.
std::vector<sparsecollComm_t> make_device_comms(int P, const sparsecollConfig_t& config, On on);
/// That of a rank is the calling thread's current device from now on.
void use_device_of(int rank, On on);
/// Messages go from device to device, in the order of streams.
bool over_nccl();
/// How many ranks there can be: tests of more take as many.
int most_ranks();
/// Of those numbers of ranks, or as many as there can be instead, each once.
inline std::vector<int> team_sizes(std::vector<int> wanted) {
  for (int& P : wanted) P = std::min(P, most_ranks());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  return wanted;
}

class DeviceRanks : public test::Ranks {
 public:
  DeviceRanks(int P, const sparsecollConfig_t& config, On on = On::first)
      : test::Ranks(make_device_comms(P, config, on)), on_(on) {
    later().ranks_begin();
  }
  ~DeviceRanks() { later().ranks_end(); }

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
