// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of what ranks say of where they run.

#include "transport/rank_location.hpp"

#include "core/machine.hpp"
#include "support/catch.hpp"

namespace sparsecoll::unit {
namespace {

RankLocation at(uint64_t machine, std::initializer_list<size_t> cpus) {
  RankLocation location{machine, machine, {}};
  for (const size_t cpu : cpus) location.cpus[cpu / 64] |= uint64_t{1} << (cpu % 64);
  return location;
}

TEST_CASE("ranks share CPUs if they are on one machine and have one in common") {
  const RankLocation ranks[] = {at(1, {0, 1}), at(2, {0, 1}),    at(1, {1, 2}),
                                at(1, {3}),    at(1, {0, 1, 2}), at(1, {})};
  CHECK(share_cpus(ranks, 0) == CpuShare{3, 0});
  CHECK(share_cpus(ranks, 1) == CpuShare{1, 0});
  CHECK(share_cpus(ranks, 2) == CpuShare{3, 1});
  CHECK(share_cpus(ranks, 3) == CpuShare{1, 0});
  CHECK(share_cpus(ranks, 4) == CpuShare{3, 2});
  CHECK(share_cpus(ranks, 5) == CpuShare{1, 0});  // its system reports no CPUs
}

TEST_CASE("CPUs beyond the first 64 count") {
  const RankLocation ranks[] = {at(1, {64}), at(1, {0}), at(1, {1023}), at(1, {64, 1023})};
  CHECK(share_cpus(ranks, 0) == CpuShare{2, 0});
  CHECK(share_cpus(ranks, 1) == CpuShare{1, 0});
  CHECK(share_cpus(ranks, 3) == CpuShare{3, 2});
}

TEST_CASE("this process is on its machine, and may run somewhere") {
  const RankLocation here = RankLocation::here();
  CHECK(here.machine == machine_number());
  CHECK(here.node == node_number());
  CHECK(here.machine != here.node);
  size_t cpus = 0;
  for (const size_t cpu : own_cpus()) cpus += (here.cpus[cpu / 64] >> (cpu % 64)) & 1;
  CHECK(cpus == own_cpus().size());
}

}  // namespace
}  // namespace sparsecoll::unit
