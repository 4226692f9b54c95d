// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests calls over MPI in which one rank deviates, in every possible way.

#include <chrono>

#include "support/deviations.hpp"
#include "support/hang_guard.hpp"
#include "support/mpi_verdict.hpp"
#include "support/sweep.hpp"

namespace {

using namespace sparsecoll::test;

std::string good_call(sparsecollComm_t comm, const Mode& mode, bool coordinate_form) {
  if (coordinate_form) return join_case(comm, SparseCase{1, mode, 300, 9, SparseKind::kRandom});
  return join_case(comm, Case{1, mode, 300, 9, Kind::kHeavyTail});
}

std::string deviate(sparsecollComm_t comm, const Mode& mode, const Deviation& deviation, int odd,
                    sparsecollResidual_t foreign) {
  const int rank = rank_in(MPI_COMM_WORLD);
  Tensor tensor(comm, rank, foreign);
  Arguments arguments = tensor.usual(deviation.coordinate_form, mode.verb);
  if (rank == odd) deviation.apply(arguments, tensor);
  MPI_Barrier(MPI_COMM_WORLD);
  const Attempt done = attempt(tensor, arguments);
  const std::chrono::duration<double> took = done.end - done.start;
  unsigned long long mine = done.sequence;
  unsigned long long highest = 0;
  MPI_Allreduce(&mine, &highest, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
  const std::string text = judge(done, deviation, rank, odd);
  if (!text.empty()) return text;
  if (took.count() > patience())
    return "late: the error took " + std::to_string(took.count()) + " s";
  return mine == highest ? "" : "ranks count calls differently";
}

/// Returns false if the ranks disagree on the last call, so that no more calls can be made.
bool deviate_everywhere(Verdict& verdict, const Mode& mode, int P) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const MpiCommunicator comm(MPI_COMM_WORLD, config_of(mode));
  const MpiCommunicator other(MPI_COMM_SELF, default_config());
  const Residual<float> foreign(other.get(), Tensor::kLength);
  Tensor tensor(comm.get(), rank, nullptr);
  for (int call = 0; call < 500; ++call) {
    const Attempt done = attempt(tensor, tensor.usual(call % 2 == 1, mode.verb));
    if (done.result == sparsecollSuccess) continue;
    verdict.check("good calls before the misuse", explain(done.result, comm.get()));
    break;
  }
  if (verdict.any_failed()) return false;
  int number = 0;
  for (const Deviation& deviation : all_deviations()) {
    if (P == 1 && !deviation.bad) continue;
    const int odd = ++number % P;
    const std::string what =
        std::string(mode.name) + " rank " + std::to_string(odd) + " deviates: " + deviation.name;
    verdict.check(what, unless_a_rank_is_late([&] {
                    return deviate(comm.get(), mode, deviation, odd, foreign.handle());
                  }));
    if (verdict.any_failed()) return false;
    verdict.check("after " + what, good_call(comm.get(), mode, deviation.coordinate_form));
    if (verdict.any_failed()) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int code = 0;
  {
    const HangGuard guard("mpi misuse", 1);
    const int P = size_of(MPI_COMM_WORLD);
    Verdict verdict;
    for (const Mode& mode : {kAuto, kAllgather, kOktopk, kGtopk}) {
      if (!deviate_everywhere(verdict, mode, P)) break;
    }
    code = verdict.report("mpi misuse");
  }
  MPI_Finalize();
  return code;
}
