// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Ranks that are processes of an mpirun.
#include <mpi.h>
#include <sparsecoll/sparsecoll_mpi.h>
#include <unistd.h>

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

/// Ranks that may lose others. MPI's collectives would end the job, or wait for the dead.
class LastingWorld final : public World {
 public:
  LastingWorld(int rank, int size, sparsecollComm_t comm) : World(rank, size, comm) {}

  // A sum of vectors in which each rank has values at its own place only. A double holds 32 bits.
  std::vector<std::uint64_t> allgather(std::uint64_t mine) override {
    std::vector<double> halves(2 * static_cast<std::size_t>(size()));
    const std::size_t own = 2 * static_cast<std::size_t>(rank());
    halves[own] = static_cast<double>(mine >> 32);
    halves[own + 1] = static_cast<double>(mine & 0xFFFFFFFFu);
    require(sparseAllreduce(halves.data(), halves.data(), halves.size(), halves.size(),
                            sparsecollFloat64, sparsecollSum, nullptr, comm(), nullptr),
            comm());
    std::vector<std::uint64_t> all;
    for (std::size_t at = 0; at < halves.size(); at += 2) {
      all.push_back(static_cast<std::uint64_t>(halves[at]) << 32 |
                    static_cast<std::uint64_t>(halves[at + 1]));
    }
    return all;
  }
};

/// Ends the communicator of a world, after `body`.
void run(World& world, const Body& body) {
  body(world);
  require(sparsecollCommDestroy(world.comm()), world.comm());
}

}  // namespace

bool mpi_is_available() { return true; }

void run_mpi(const sparsecollConfig_t& config, bool goes_on, const Body& body) {
  MPI_Init(nullptr, nullptr);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  try {
    sparsecollComm_t comm = nullptr;
    require(sparsecollCommInitMpi(&comm, MPI_COMM_WORLD, &config), nullptr);
    if (goes_on) {
      LastingWorld world(rank, size, comm);
      run(world, body);
      std::fflush(nullptr);
      if (world.has_lost_ranks()) _exit(EXIT_SUCCESS);  // MPI_Finalize would wait for the dead
    } else {
      MpiWorld world(rank, size, comm);
      run(world, body);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_digits: rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);  // the other ranks wait for this one
  }
  MPI_Finalize();
}

}  // namespace train
