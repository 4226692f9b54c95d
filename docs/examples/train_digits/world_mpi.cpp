// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Ranks that are processes of an mpirun.
#include <mpi.h>
#include <sparsecoll/sparsecoll_mpi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "world.h"

namespace train {
namespace {

class MpiWorld final : public World {
 public:
  MpiWorld(int rank, int size, sparsecollComm_t comm) : World(rank, size, comm) {}

  // MPI's default error handler ends the job on an error.
  std::vector<std::uint64_t> allgather(std::uint64_t mine) override {
    std::vector<std::uint64_t> all(static_cast<std::size_t>(size()));
    MPI_Allgather(&mine, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
    return all;
  }
};

}  // namespace

bool mpi_is_available() { return true; }

void run_mpi(const sparsecollConfig_t& config, const Body& body) {
  MPI_Init(nullptr, nullptr);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  try {
    sparsecollComm_t comm = nullptr;
    require(sparsecollCommInitMpi(&comm, MPI_COMM_WORLD, &config), nullptr);
    MpiWorld world(rank, size, comm);
    body(world);
    require(sparsecollCommDestroy(comm), comm);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_digits: rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);  // the other ranks wait for this one
  }
  MPI_Finalize();
}

}  // namespace train
