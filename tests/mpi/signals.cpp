// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Signals interrupt every rank a thousand times a second while communicators over MPI are made,
// used for calls of every kind, and destroyed: nothing fails.

#include "support/all_calls.hpp"
#include "support/folder.hpp"
#include "support/hang_guard.hpp"
#include "support/mpi_verdict.hpp"
#include "support/signal_storm.hpp"
#include "support/sweep.hpp"
#include "support/variable.hpp"

namespace {

using namespace sparsecoll::test;

void live_in_storm(Verdict& verdict, bool queued) {
  const Variable blocking("SPARSECOLL_TEST_BLOCKING", queued ? "0" : "1");
  const Folder folder;
  const std::uint64_t before = SignalStorm::handled();
  const SignalStorm storm, everywhere(SignalStorm::To::process);
  for (int round = 0; round < 3 && !verdict.any_failed(); ++round) {
    MpiCommunicator comm(MPI_COMM_WORLD, default_config());
    verdict.check(queued ? "queued" : "blocking",
                  make_all_calls(comm.get(), folder.file("own"),
                                 base_seed() + static_cast<std::uint64_t>(round)));
    verdict.require("destroy", comm.destroy() == sparsecollSuccess);
  }
  verdict.require("there are signals", SignalStorm::handled() > before + 20);
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  int code = 0;
  {
    const HangGuard guard("mpi signals", 1);
    Verdict verdict;
    verdict.check("the storm", storm_interrupts());
    live_in_storm(verdict, false);
    if (level == MPI_THREAD_MULTIPLE) live_in_storm(verdict, true);
    code = verdict.report("mpi signals");
  }
  MPI_Finalize();
  return code;
}
