// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests how a rank waits for messages if each look for one takes long: Open MPI yields the CPU in a
// look if there are more ranks than CPUs, and a busy machine gives it back late.

#include <cstdio>
#include <exception>
#include <thread>

#include "support/hang_guard.hpp"
#include "support/mpi_verdict.hpp"
#include "transport/mpi.hpp"

namespace {

int probes = 0;

}  // namespace

// This replaces MPI's function. A look takes 20 ms.
int MPI_Improbe(int peer, int tag, MPI_Comm comm, int* found, MPI_Message* message,
                MPI_Status* status) {
  ++probes;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return PMPI_Improbe(peer, tag, comm, found, message, status);
}

namespace {

using namespace sparsecoll;

/// A deadline that passes during a slow look is noticed at once.
void check_limit(test::Verdict& verdict) {
  const auto transport = make_mpi_transport(MPI_COMM_WORLD, Deadline::after(30000), {});
  probes = 0;
  transport->idle(Clock::now() + std::chrono::milliseconds(10));
  verdict.require("idle() does not look again after its limit", probes == 1);
}

/// A slow look also ends a wait whose limit is far away, so that its caller can do other things.
void check_far_limit(test::Verdict& verdict) {
  const auto transport = make_mpi_transport(MPI_COMM_WORLD, Deadline::after(30000), {});
  for (int wait = 0; wait < 5; ++wait) {  // the first yields, the others sleep
    probes = 0;
    transport->idle(Clock::now() + std::chrono::milliseconds(500));
    verdict.require("idle() does not look again after a slow look", probes == 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = test::rank_in(MPI_COMM_WORLD);
  test::HangGuard guard(text("mpi_idle, rank ", rank), 1);
  test::Verdict verdict;
  try {
    check_limit(verdict);
    check_far_limit(verdict);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mpi_idle, rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);  // other ranks may wait for this one
  }
  const int code = verdict.report("mpi_idle");
  guard.leave(0);
  MPI_Finalize();
  return code;
}
