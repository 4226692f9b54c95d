// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// mpirun --enable-recovery -n P soak_mpi [OPTIONS] A job of the soak over MPI, or over UCX. --help
// lists the options; soak_rank.hpp says what a job does, and what it checks. The launcher must let
// ranks live when others die. Its exit status says nothing then: read the reports.

#include <mpi.h>
#include <sparsecoll/sparsecoll_mpi.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <thread>

#include "soak/soak_rank.hpp"
#include "support/hang_guard.hpp"

namespace {

using namespace sparsecoll::soak;

sparsecollComm_t connect(const Options& options, int rank, int size) {
  const sparsecollConfig_t config = first_config(options);
  const auto gather = [](void*, const void* own, void* all, size_t bytes) {
    const auto count = static_cast<int>(bytes);
    return MPI_Allgather(own, count, MPI_BYTE, all, count, MPI_BYTE, MPI_COMM_WORLD);
  };
  sparsecollComm_t comm = nullptr;
  const sparsecollResult_t result =
      options.ucx ? sparsecollCommInitOob(&comm, size, rank, gather, nullptr, &config)
                  : sparsecollCommInitMpi(&comm, MPI_COMM_WORLD, &config);
  if (result == sparsecollSuccess) return comm;
  std::fprintf(stderr, "%s\n", sparsecollGetLastError(nullptr));
  MPI_Abort(MPI_COMM_WORLD, 1);
  return nullptr;
}

/// Waits until every rank has written its report, for a launcher that sees one rank exit may end
/// the others.
void wait_for_reports(const Options& options, int size) {
  const auto all_there = [&] {
    for (int rank = 0; rank < size; ++rank)
      if (!std::filesystem::exists(options.folder + "/rank_" + std::to_string(rank))) return false;
    return true;
  };
  for (int tries = 0; !all_there() && tries < 400; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

}  // namespace

int main(int argc, char** argv) {
  const Options options =
      parse("Random calls and faults, checked, of ranks that are processes", argc, argv, false);
  int level = 0, rank = 0, size = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const sparsecoll::test::HangGuard guard("soak", 1, std::chrono::minutes(4));
  const bool good =
      SoakRank(options, rank, size, connect(options, rank, size), Death::kOfProcess).run();
  wait_for_reports(options, size);
  _exit(good ? 0 : 1);  // MPI_Finalize would wait for the dead
}
