// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/programs.hpp"

#include "common/algorithm_words.hpp"
#include "common/benchmark.hpp"
#include "device/device.hpp"
#include "push_sum/consensus.hpp"

namespace sparsecoll::perf {

int sparse_allreduce_perf(int argc, char** argv) {
  Program program;
  program.name = "sparse_allreduce_perf";
  program.description =
      "Time, traffic and correctness of sparseAllreduce, compared with MPI alone.";
  program.examples = R"(
  mpirun -n 8 sparse_allreduce_perf --density 0.001,0.01          # every algorithm and MPI
  mpirun -n 8 sparse_allreduce_perf -b 64M -e 64M --algo auto,mpi-dense --feedback 1
  mpirun -n 8 sparse_allreduce_perf --form sparse -k 1000 --algo auto -J rows.json
  sparse_allreduce_perf --transport simulated -t 64 --rate 10gbit --algo auto,dense
  perf/launch -n 4 sparse_allreduce_perf --transport ucx)";
  program.algorithms = sparse_algorithms();
  program.default_algorithms = sparse_algorithms();
  std::erase(program.default_algorithms, kReordered);
  program.tensors = true;
  return run_allreduce_program(argc, argv, program);
}

int gtopk_allreduce_perf(int argc, char** argv) {
  Program program;
  program.name = "gtopk_allreduce_perf";
  program.description = "Time, traffic and correctness of gtopkAllreduce, compared with MPI alone.";
  program.examples = R"(
  mpirun -n 8 gtopk_allreduce_perf --algo gtopk,oktopk,mpi-allgather --density 0.001
  gtopk_allreduce_perf --transport local -t 4 --form sparse -b 1M -e 16M)";
  program.algorithms = sparse_algorithms();
  program.algorithms.insert(program.algorithms.begin(), kGtopk);
  program.default_algorithms = {kGtopk};
  return run_allreduce_program(argc, argv, program);
}

int sparse_alltoall_perf(int argc, char** argv) {
  Program program;
  program.name = "sparse_alltoall_perf";
  program.description = "Time, traffic and correctness of sparseAlltoall, compared with MPI alone.";
  program.examples = R"(
  mpirun -n 8 sparse_alltoall_perf --density 0.001,0.01
  mpirun -n 8 sparse_alltoall_perf --skew 1 -d float64)";
  program.algorithms = {kAlltoall};
  program.default_algorithms = {kAlltoall};
  program.baselines = {"mpi-alltoallv"};
  program.owners = true;
  return run_allreduce_program(argc, argv, program);
}

int push_sum_perf(int argc, char** argv) {
  int status = 0;
  const auto options = parse_push_sum(argc, argv, &status);
  if (!options) return status;
  const Options& run = options->run;
  if (run.memory == "device" && !find_device(run.program)) return kNoDevice;
  return launch(run.world(), [&](Ranks& ranks) {
    const auto storage = make_storage(run, ranks);
    return options->slow ? measure_slow_rank(*options, ranks, *storage)
                         : measure_consensus(*options, ranks, *storage);
  });
}

}  // namespace sparsecoll::perf
