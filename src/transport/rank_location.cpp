// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/rank_location.hpp"

#include "core/machine.hpp"

namespace sparsecoll {

namespace {

constexpr size_t kBits = 64;

bool share_a_cpu(const RankLocation& a, const RankLocation& b) {
  for (size_t word = 0; word < a.cpus.size(); ++word)
    if ((a.cpus[word] & b.cpus[word]) != 0) return true;
  return false;
}

}  // namespace

RankLocation RankLocation::here() {
  RankLocation location{machine_number(), node_number(), {}};
  for (const size_t cpu : own_cpus())
    if (cpu < kBits * location.cpus.size())
      location.cpus[cpu / kBits] |= uint64_t{1} << (cpu % kBits);
  return location;
}

CpuShare share_cpus(std::span<const RankLocation> ranks, size_t rank) {
  CpuShare share{1, 0};
  for (size_t r = 0; r < ranks.size(); ++r) {
    if (r == rank || ranks[r].machine != ranks[rank].machine || !share_a_cpu(ranks[r], ranks[rank]))
      continue;
    ++share.ranks;
    if (r < rank) ++share.index;
  }
  return share;
}

}  // namespace sparsecoll
