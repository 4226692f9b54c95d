// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Runs collectives while a rank dies as fault_rank.hpp says. The others go on with
// sparsecollCommShrink, with its number or (kill-before) without, and with their residuals, which
// must be those after one and the same call, bit for bit. So must be the results and residuals of
// their next calls.

#include "mpi/fault_rank.hpp"
#include "support/survivor.hpp"
#include "support/typed.hpp"

namespace {

using namespace sparsecoll::test;

Mode mode_of(const std::string& verb) {
  if (verb == "allgather") return kAllgather;
  if (verb == "gtopk") return kGtopk;
  return kOktopk;
}

/// Shrinks without a list until it works. Where MPI does not tell who has died (Open MPI does not),
/// nobody knows before a shrink has waited.
sparsecollResult_t shrink_without_list(sparsecollComm_t comm, int victim, sparsecollComm_t* out) {
  const sparsecollResult_t first = sparsecollCommShrink(comm, nullptr, 0, out, nullptr);
  if (first == sparsecollSuccess) return first;
  int failed = -1, count = 1;
  sparsecollCommGetFailed(comm, &failed, &count);
  if (count != 1 || failed != victim) return sparsecollInternalError;
  return sparsecollCommShrink(comm, nullptr, 0, out, nullptr);
}

std::string run(sparsecollComm_t comm, const FaultCase& fault, const Waker& waker) {
  const Mode mode = mode_of(fault.verb);
  const Victim victim(fault);
  const int number = std::atoi(fault.victims_number.c_str());
  const Survivor survivor{mode, size_of(MPI_COMM_WORLD), rank_in(MPI_COMM_WORLD), number};
  const Residual<float> residual(comm, Survivor::kLength);
  for (int call = 0; call < kCallsAtMost; ++call) {
    victim.before_call(call, waker);
    sparsecollResult_t result = survivor.call(comm, residual);
    victim.after_call(call);
    if (result == sparsecollSuccess) continue;
    sparsecollComm_t shrunk = nullptr;
    result = fault.scenario == "kill-before"
                 ? shrink_without_list(comm, number, &shrunk)
                 : sparsecollCommShrink(comm, &number, 1, &shrunk, nullptr);
    if (result != sparsecollSuccess) return "shrink: " + explain(result, comm);
    result = sparsecollResidualMove(residual.handle(), shrunk);
    if (result != sparsecollSuccess) return "move: " + explain(result, shrunk);
    const std::string text =
        expect("destroy", sparsecollCommDestroy(comm), sparsecollSuccess, nullptr);
    return text.empty() ? survivor.go_on(shrunk, residual) : text;
  }
  return "no call failed";
}

}  // namespace

int main(int argc, char** argv) {
  return run_rank(argc, argv, [](const FaultCase& fault, const Waker& waker) {
    sparsecollConfig_t config = config_of(mode_of(fault.verb));
    config.timeoutMs = kDeadlineMs;
    sparsecollComm_t comm = nullptr;
    const std::string text = expect("init", sparsecollCommInitMpi(&comm, MPI_COMM_WORLD, &config),
                                    sparsecollSuccess, nullptr);
    return text.empty() ? run(comm, fault, waker) : text;
  });
}
