// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests the C++ header over MPI: a sum, an error on all ranks, and the destruction of a
// communicator before MPI_Finalize.

#include <cstdio>
#include <numeric>
#include <sparsecoll/sparsecoll_mpi.hpp>

namespace {

/// Returns the number of errors on this rank.
int failures(int rank, int size) {
  sparsecoll::Config config;
  config.timeoutMs = 60000;
  sparsecoll::Communicator comm = sparsecoll::initMpi(MPI_COMM_WORLD, config);
  int wrong = comm.rank() != rank || comm.size() != size;
  std::vector<double> x(100), sum(100);
  std::iota(x.begin(), x.end(), rank);
  sparsecoll::Residual<double> residual(comm, x.size());
  comm.sparseAllreduce(x, sum, x.size(), sparsecollAvg, &residual);
  for (std::size_t i = 0; i < x.size(); ++i)
    wrong += sum[i] != static_cast<double>(i) + (size - 1) / 2.0;
  try {
    comm.sparseAllreduce(x, sum, rank == 0 ? 1 : 2);
    wrong += size > 1;
  } catch (const sparsecoll::Error& error) {
    wrong += error.code() != sparsecollInvalidUsage;
  }
  try {
    sparsecoll::initMpi(MPI_COMM_NULL);
    ++wrong;
  } catch (const sparsecoll::Error& error) {
    wrong += error.code() != sparsecollInvalidArgument;
  }
  comm.destroy();
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0, wrong = 0, all = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  try {
    wrong = failures(rank, size);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    wrong = 1;
  }
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
