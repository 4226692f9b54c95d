// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests that the transport over NCCL's stand-in keeps the contract of StreamTransport. Each rank is
// on a device of its own.

#include "nccl/contract_ranks.hpp"
#include "nccl/stand_in_library.hpp"
#include "nccl/team.hpp"
#include "support/catch.hpp"

namespace sparsecoll::nccl_tests {
namespace {

/// Breaks the communicator that was split last. The test knows it only if the parent is blocking.
bool break_child(ncclComm_t parent) {
  const ncclComm_t child = last_child_of(parent);
  if (child) nccl_stand_in::break_rank(child);
  return child;
}

std::string run_on_stand_in(const stream_contract::Case& which, int P, bool blocking) {
  std::string wrong;
  {
    const UserComms comms(P, blocking);
    ContractRanks ranks{.break_child = break_child};
    for (int r = 0; r < P; ++r) {
      ranks.comms.push_back(comms[r]);
      ranks.devices.push_back(UserComms::device(r));
    }
    wrong = run_contract(which, ranks);
    if (nccl_stand_in::communicators_in_the_end(static_cast<size_t>(P)) != static_cast<size_t>(P))
      wrong += "communicators are left over";
  }
  return wrong + nccl_stand_in::leftovers();
}

TEST_CASE("NCCL keeps the contract of a transport, split from a blocking communicator") {
  for (const auto& each : stream_contract::cases())
    for (int P = 1; P <= 9; ++P) CHECK(run_on_stand_in(each, P, true) == "");
}

TEST_CASE("NCCL keeps the contract of a transport, split from a communicator that does not block") {
  for (const auto& each : stream_contract::cases())
    for (int P = 1; P <= 9; ++P) CHECK(run_on_stand_in(each, P, false) == "");
}

}  // namespace
}  // namespace sparsecoll::nccl_tests
