// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// One rank may open few files (RLIMIT_NOFILE). Calls need none; a save says so on this rank; an
// init has the same outcome on all ranks, long before its deadline; nothing stays open; and with
// more files everything works again.

#include "support/descriptors.hpp"

#include <chrono>
#include <optional>

#include "support/folder.hpp"
#include "support/hang_guard.hpp"
#include "support/mpi_verdict.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace {

using namespace sparsecoll::test;

constexpr std::size_t kLength = 500;
constexpr double kAtOnce = 5.0;  ///< seconds; the deadline is minutes

/// Returns whether all ranks have passed the same value.
bool same_everywhere(int value) {
  int mine[2] = {value, -value}, most[2];
  MPI_Allreduce(mine, most, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return most[0] == -most[1];
}

std::string explain(sparsecollResult_t result) {
  return std::string(sparsecollGetErrorString(result)) + " [" + sparsecollGetLastError(nullptr) +
         "]";
}

void try_calls(Verdict& verdict, sparsecollComm_t comm) {
  for (const Mode& mode : {kAuto, kAllgather, kOktopk})
    verdict.check("a call", join_case(comm, Case{3, mode, kLength, 20, Kind::kHeavyTail}));
}

/// Saves and loads, which needs a descriptor.
void try_state(Verdict& verdict, const Residual<float>& residual, const std::string& file,
               bool can_open) {
  const sparsecollResult_t expected = can_open ? sparsecollSuccess : sparsecollSystemError;
  sparsecollResult_t result = sparsecollResidualSave(residual.handle(), file.c_str());
  if (result != expected) verdict.check("a save", explain(result));
  result = sparsecollResidualLoad(residual.handle(), file.c_str());
  if (result != expected) verdict.check("a load", explain(result));
}

void try_init(Verdict& verdict, bool must_work) {
  const auto start = std::chrono::steady_clock::now();
  sparsecollComm_t comm = nullptr;
  const sparsecollConfig_t config = default_config();
  const sparsecollResult_t result = sparsecollCommInitMpi(&comm, MPI_COMM_WORLD, &config);
  const std::string message = explain(result);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  verdict.require("the init is quick", took.count() < kAtOnce);
  const bool works = result == sparsecollSuccess;
  if (must_work && !works) verdict.check("an init", message);
  if (!same_everywhere(works)) return verdict.check("ranks differ on an init", message);
  if (works)
    verdict.check("its first call", join_case(comm, Case{3, kAuto, kLength, 20, Kind::kHeavyTail}));
  if (works) verdict.require("destroy", sparsecollCommDestroy(comm) == sparsecollSuccess);
}

void live_with_few(Verdict& verdict) {
  const Folder folder;
  const std::string file = folder.file("rank_" + std::to_string(rank_in(MPI_COMM_WORLD)));
  const MpiCommunicator comm(MPI_COMM_WORLD, default_config());
  const Residual<float> residual(comm.get(), kLength);
  try_calls(verdict, comm.get());
  try_state(verdict, residual, file, true);
  try_init(verdict, true);
  const long before = open_descriptors();
  for (int more = 0; more < 4 && !verdict.any_failed(); ++more) {
    const bool limited = rank_in(MPI_COMM_WORLD) == more % size_of(MPI_COMM_WORLD);
    {
      std::optional<FewDescriptors> few;
      if (limited) few.emplace(more);
      try_calls(verdict, comm.get());
      if (more == 0) try_state(verdict, residual, file, !limited);
      try_init(verdict, false);
    }
    verdict.require("descriptors stay open", open_descriptors() <= before);
    try_state(verdict, residual, file, true);
    try_init(verdict, true);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int code = 0;
  {
    const HangGuard guard("mpi descriptors", 1);
    Verdict verdict;
    live_with_few(verdict);
    code = verdict.report("mpi descriptors");
  }
  MPI_Finalize();
  return code;
}
