// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Measures sparseAlltoall: every rank's selection goes to the owners of its indices.
#include "common/library.hpp"
#include "common/sweep.hpp"

namespace perf = sparsecoll::perf;

int main(int argc, char** argv) {
  perf::Program program;
  program.name = "sparse_alltoall_perf";
  program.description = "Time, traffic and correctness of sparseAlltoall, beside MPI's own means.";
  program.algorithms = {perf::kAlltoall};
  program.default_algorithms = {perf::kAlltoall};
  program.baselines = {"mpi-alltoallv"};
  program.owners = true;
  return perf::run_allreduce_program(argc, argv, program);
}
