// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests that the init fails with a message before MPI_Init and after MPI_Finalize, and that a
// forked child cannot use its parent's communicators.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "support/config.hpp"
#include "support/mpi_verdict.hpp"
#include "support/sweep.hpp"

namespace {

using namespace sparsecoll::test;

std::string init_must_fail() {
  sparsecollComm_t comm = nullptr;
  const sparsecollResult_t result = sparsecollCommInitMpi(&comm, MPI_COMM_WORLD, nullptr);
  const std::string message = sparsecollGetLastError(nullptr);
  if (result != sparsecollInvalidUsage) return sparsecollGetErrorString(result);
  return message.find("MPI") != std::string::npos ? "" : "the message says: " + message;
}

/// A child of fork() gets InvalidUsage at once from its parent's communicator.
std::string child_must_fail(sparsecollComm_t comm) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    float x[4] = {};
    const bool refused = sparsecollCommSynchronize(comm) == sparsecollInvalidUsage &&
                         sparseAllreduce(x, x, 4, 1, sparsecollFloat32, sparsecollSum, nullptr,
                                         comm, nullptr) == sparsecollInvalidUsage &&
                         sparsecollCommDestroy(comm) == sparsecollInvalidUsage;
    _exit(refused ? 0 : 1);  // what exit() does is MPI's affair
  }
  int status = 1;
  if (child < 0 || waitpid(child, &status, 0) != child) return "no child";
  return status == 0 ? "" : "status " + std::to_string(status);
}

}  // namespace

int main(int argc, char** argv) {
  Verdict verdict;
  verdict.check("before MPI_Init", init_must_fail());
  MPI_Init(&argc, &argv);
  {
    const MpiCommunicator comm(MPI_COMM_WORLD, default_config());
    verdict.check("in between", join_case(comm.get(), Case{1, kOktopk, 100, 9}));
    verdict.check("in a forked child", child_must_fail(comm.get()));
    verdict.check("after the fork", join_case(comm.get(), Case{2, kOktopk, 100, 9}));
  }
  const int code = verdict.report("mpi lifecycle");
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Finalize();
  const std::string afterwards = init_must_fail();
  if (!afterwards.empty()) {
    std::printf("mpi lifecycle: rank %d: after MPI_Finalize: %s\n", rank, afterwards.c_str());
  }
  return code != 0 || !afterwards.empty() ? 1 : 0;
}
