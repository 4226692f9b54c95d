// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests verbs over MPI in a selection of cases: results and residuals have the bits of the
// definition.

#include <chrono>
#include <cstdlib>
#include <utility>

#include "support/exchange_sweep.hpp"
#include "support/hang_guard.hpp"
#include "support/mpi_verdict.hpp"
#include "support/sweep.hpp"

namespace {

using namespace sparsecoll::test;

/// A failed call may have parted the ranks, so the first failure ends a mode.
void check_dense_forms(Verdict& verdict, const Mode& mode, int P) {
  const MpiCommunicator comm(MPI_COMM_WORLD, config_of(mode));
  for (const Case& c : cases_of(mode, P, P > 4 ? 12 : 6)) {
    const std::string text = join_case(comm.get(), c);
    verdict.check("dense form", text);
    if (!text.empty()) return;
  }
}

/// Some ranks send long messages in eager chunks, as if the others were on other machines; others
/// do not.
void check_large_vectors(Verdict& verdict, const Mode& mode) {
  constexpr const char* kVariable = "SPARSECOLL_MPI_PIECES";
  setenv(kVariable, rank_in(MPI_COMM_WORLD) % 2 == 0 ? "1" : "0", 1);
  const MpiCommunicator comm(MPI_COMM_WORLD, config_of(mode));
  unsetenv(kVariable);
  const std::size_t n = (std::size_t{1} << 18) + 3, some = n / 100, many = n / 4;
  for (const auto& [kind, k] : {std::pair(Kind::kHeavyTail, some), std::pair(Kind::kHotBlock, some),
                                std::pair(Kind::kAllEqual, many)}) {
    const Case c{base_seed(),       mode, n,     k, kind, sparsecoll::oracle::Op::kAvg,
                 sparsecollFloat32, true, false, 2};
    verdict.check("large vector", join_case(comm.get(), c));
  }
}

void check_coordinate_forms(Verdict& verdict, const Mode& mode, int P) {
  const MpiCommunicator comm(MPI_COMM_WORLD, config_of(mode));
  for (const SparseCase& c : sparse_cases_of(mode, P, P > 4 ? 8 : 4)) {
    const std::string text = join_case(comm.get(), c);
    verdict.check("coordinate form", text);
    if (!text.empty()) return;
  }
  for (const SparseCase& c : block_cases_of(mode, P, P > 4 ? 16 : 8)) {
    const std::string text = join_case(comm.get(), c);
    verdict.check("blocks", text);
    if (!text.empty()) return;
  }
}

/// Tests a selection of the cases in which values are rounded to be sent.
void check_rounded_values(Verdict& verdict, const Mode& mode, int P) {
  const MpiCommunicator comm(MPI_COMM_WORLD, config_of(mode));
  for (const Case& c : cases_of(mode, P, 24)) {
    verdict.check("dense form, rounded", join_case(comm.get(), c));
    if (verdict.any_failed()) return;
  }
  if (!has_coordinate_form(mode)) return;
  for (const SparseCase& c : sparse_cases_of(mode, P, 16)) {
    verdict.check("coordinate form, rounded", join_case(comm.get(), c));
    if (verdict.any_failed()) return;
  }
}

void check_exchanges(Verdict& verdict, int P) {
  const MpiCommunicator comm(MPI_COMM_WORLD, default_config());
  for (const AlltoallCase& c : alltoall_cases_of(P, P > 4 ? 8 : 4)) {
    verdict.check("all-to-all", join_case(comm.get(), c));
    if (verdict.any_failed()) return;
  }
  for (const ReduceScatterCase& c : reduce_scatter_cases_of(P, P > 4 ? 16 : 8)) {
    verdict.check("reduce-scatter", join_case(comm.get(), c));
    if (verdict.any_failed()) return;
  }
}

void check_long_run(Verdict& verdict, const Mode& mode) {
  const MpiCommunicator comm(MPI_COMM_WORLD, config_of(mode));
  const Case c{base_seed(),       mode, 700,   20, Kind::kHeavyTail, sparsecoll::oracle::Op::kSum,
               sparsecollFloat64, true, false, 50};
  verdict.check("50 calls in a row", join_case(comm.get(), c));
}

/// Checks that the ranks received as many bytes as they sent.
void check_traffic(Verdict& verdict, const Mode& mode, int P) {
  const MpiCommunicator comm(MPI_COMM_WORLD, config_of(mode));
  verdict.check("traffic", join_case(comm.get(), Case{1, mode, 20000, 300, Kind::kHeavyTail}));
  sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
  verdict.require("stats", sparsecollCommGetStats(comm.get(), sparsecollStatsTotal, &stats) ==
                               sparsecollSuccess);
  unsigned long long mine[2] = {stats.bytesSent, stats.bytesReceived};
  unsigned long long all[2] = {};
  MPI_Allreduce(mine, all, 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  verdict.require(std::string(mode.name) + ": " + std::to_string(all[0]) + " bytes sent, " +
                      std::to_string(all[1]) + " received",
                  all[0] == all[1] && (all[0] > 0) == (P > 1));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int code = 0;
  {
    const HangGuard guard("mpi definition", 1);
    const int P = size_of(MPI_COMM_WORLD);
    Verdict verdict;
    for (const Mode& mode : {kAuto, kAllgather, kOktopk, kTopkA2A, kHierarchical, kSharded, kDense,
                             kGtopk, kGtopkPaper}) {
      check_dense_forms(verdict, mode, P);
      if (verdict.any_failed()) break;
      check_large_vectors(verdict, mode);
      if (has_coordinate_form(mode)) check_coordinate_forms(verdict, mode, P);
      if (verdict.any_failed()) break;
      check_long_run(verdict, mode);
      check_traffic(verdict, mode, P);
      if (verdict.any_failed()) break;
    }
    for (const Mode& mode : kRoundingModes) {
      if (verdict.any_failed()) break;
      check_rounded_values(verdict, mode, P);
    }
    if (!verdict.any_failed()) check_exchanges(verdict, P);
    code = verdict.report("mpi definition");
  }
  MPI_Finalize();
  return code;
}
