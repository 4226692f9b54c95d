// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Measures sparseAllreduce (--form dense) and sparseAllreducev (--form sparse, sum);
// with --tensors it searches how many bytes of tensors should go into one group.
#include "common/library.hpp"
#include "common/sweep.hpp"

namespace perf = sparsecoll::perf;

int main(int argc, char** argv) {
  perf::Program program;
  program.name = "sparse_allreduce_perf";
  program.description = "Time, traffic and correctness of sparseAllreduce, beside MPI's own means.";
  program.algorithms = perf::sparse_algorithms();
  program.default_algorithms = perf::sparse_algorithms();
  program.tensors = true;
  return perf::run_allreduce_program(argc, argv, program);
}
