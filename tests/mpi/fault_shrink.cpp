// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Runs collectives while a rank dies as fault_rank.hpp says. The others go on with
// sparsecollCommShrink, with its number or (kill-before) without, and with their residuals, which
// must be those after one and the same call, bit for bit. So must be the results and residuals of
// their next calls.

#include <cstdio>

#include "mpi/fault_rank.hpp"
#include "support/compare.hpp"
#include "support/deviations.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace {

using namespace sparsecoll::test;
using Inputs = sparsecoll::oracle::DenseInputs<float>;

constexpr std::size_t kLength = std::size_t{1} << 15;
constexpr std::size_t kKept = kLength / 50;
constexpr int kMoreCalls = 5;

Mode mode_of(const std::string& verb) {
  if (verb == "allgather") return kAllgather;
  if (verb == "gtopk") return kGtopk;
  return kOktopk;
}

/// What all ranks send, and their residuals after so many calls.
Inputs inputs_after(const Mode& mode, std::uint64_t calls) {
  const int ranks = size_of(MPI_COMM_WORLD);
  Inputs in;
  for (int rank = 0; rank < ranks; ++rank)
    in.sends.push_back(make_data<float>(Kind::kHeavyTail, kLength, rank, 8, 1));
  in.residuals.assign(static_cast<std::size_t>(ranks), std::vector<float>(kLength, 0.0f));
  for (std::uint64_t call = 0; call < calls; ++call)
    in.residuals = expected<float>(mode, in, kKept, sparsecoll::oracle::Op::kSum).residuals;
  return in;
}

/// Shrinks without a list until it works: before a shrink has waited, nobody knows who is dead.
sparsecollResult_t shrink_without_list(sparsecollComm_t comm, int victim, sparsecollComm_t* out) {
  const sparsecollResult_t first = sparsecollCommShrink(comm, nullptr, 0, out, nullptr);
  int failed = -1, count = 1;
  sparsecollCommGetFailed(comm, &failed, &count);
  if (first == sparsecollSuccess || count != 1 || failed != victim) return sparsecollInternalError;
  return sparsecollCommShrink(comm, nullptr, 0, out, nullptr);
}

/// Makes calls with the ranks that remain. Returns "" or what is wrong.
std::string go_on(sparsecollComm_t comm, const Mode& mode, int victim,
                  const Residual<float>& residual) {
  std::uint64_t committed = 0;
  sparsecollCommGetSequence(comm, &committed);
  Inputs in = inputs_after(mode, committed);
  const auto own = static_cast<std::size_t>(rank_in(MPI_COMM_WORLD));
  std::string wrong = difference("residual", residual.read(), in.residuals[own]);
  if (!wrong.empty()) return "after the shrink: " + wrong;
  const std::vector<float> send = in.sends[own];
  in.sends.erase(in.sends.begin() + victim);
  in.residuals.erase(in.residuals.begin() + victim);
  const std::size_t place = own - (static_cast<int>(own) > victim ? 1 : 0);
  std::vector<float> recv(kLength);
  for (int call = 0; call < kMoreCalls; ++call) {
    const sparsecollResult_t result = call_dense_verb<float>(
        mode.verb, {send.data(), recv.data(), kLength, kKept, sparsecollSum, residual.handle()},
        comm);
    if (result != sparsecollSuccess) return "a later call: " + explain(result, comm);
    const auto good = expected<float>(mode, in, kKept, sparsecoll::oracle::Op::kSum);
    in.residuals = good.residuals;
    wrong = difference("residual", residual.read(), in.residuals[place]);
    if (!wrong.empty()) return "a later call: " + wrong;
  }
  std::printf("committed %d, then %d more\n", static_cast<int>(committed), kMoreCalls);
  return expect("destroy", sparsecollCommDestroy(comm), sparsecollSuccess, nullptr);
}

std::string run(sparsecollComm_t comm, const FaultCase& fault, const Waker& waker) {
  const Mode mode = mode_of(fault.verb);
  const Victim victim(fault);
  const int number = std::atoi(fault.victims_number.c_str());
  const auto send = make_data<float>(Kind::kHeavyTail, kLength, rank_in(MPI_COMM_WORLD), 8, 1);
  std::vector<float> recv(kLength);
  const Residual<float> residual(comm, kLength);
  for (int call = 0; call < kCallsAtMost; ++call) {
    victim.before_call(call, waker);
    sparsecollResult_t result = call_dense_verb<float>(
        mode.verb, {send.data(), recv.data(), kLength, kKept, sparsecollSum, residual.handle()},
        comm);
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
    return text.empty() ? go_on(shrunk, mode, number, residual) : text;
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
