// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

namespace train {

double World::sum(double mine) {
  double sum = 0;  // added in rank order, so that it is the same on every rank
  for (const std::uint64_t bits : allgather(std::bit_cast<std::uint64_t>(mine))) {
    sum += std::bit_cast<double>(bits);
  }
  return sum;
}

double World::max(double mine) {
  double largest = mine;
  for (const std::uint64_t bits : allgather(std::bit_cast<std::uint64_t>(mine))) {
    largest = std::max(largest, std::bit_cast<double>(bits));
  }
  return largest;
}

std::uint64_t World::max(std::uint64_t mine) {
  const std::vector<std::uint64_t> all = allgather(mine);
  return *std::max_element(all.begin(), all.end());
}

sparsecollComm_t World::shrink() const {
  sparsecollComm_t made = nullptr;
  sparsecollResult_t result = sparsecollTimeout;
  // The first shrink may find out who does not come. The next one goes on without them.
  for (int lost = 0; lost < size_ && result != sparsecollSuccess; ++lost) {
    result = sparsecollCommShrink(comm_, nullptr, 0, &made, nullptr);
  }
  require(result, comm_);
  return made;
}

void World::continue_with(sparsecollComm_t comm) {
  require(sparsecollCommDestroy(comm_), comm_);
  comm_ = comm;
  has_lost_ranks_ = true;
  require(sparsecollCommRank(comm, &rank_), comm);
  require(sparsecollCommCount(comm, &size_), comm);
}

void require(sparsecollResult_t result, sparsecollComm_t comm) {
  if (result == sparsecollSuccess) return;
  const std::string message =
      std::string(sparsecollGetErrorString(result)) + ": " + sparsecollGetLastError(comm);
  if (result == sparsecollTimeout || result == sparsecollRemoteError) throw RankLost(message);
  throw std::runtime_error(message);
}

}  // namespace train
