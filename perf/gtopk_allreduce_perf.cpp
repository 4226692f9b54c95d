// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Measures gtopkAllreduce (--form dense) and gtopkAllreducev (--form sparse, sum); the algorithms
// of sparseAllreduce can be put beside it.
#include "common/library.hpp"
#include "common/sweep.hpp"

namespace perf = sparsecoll::perf;

int main(int argc, char** argv) {
  perf::Program program;
  program.name = "gtopk_allreduce_perf";
  program.description = "Time, traffic and correctness of gtopkAllreduce, beside MPI's own means.";
  program.algorithms = perf::sparse_algorithms();
  program.algorithms.insert(program.algorithms.begin(), perf::kGtopk);
  program.default_algorithms = {perf::kGtopk};
  return perf::run_allreduce_program(argc, argv, program);
}
