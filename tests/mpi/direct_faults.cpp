// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Errors with messages that a CUDA-aware MPI moves from device to device (aware_mpi.hpp): ranks
// with host memory among the others, disagreement, and peers that do not receive.

#include <chrono>

#include "mpi/aware_mpi.hpp"
#include "mpi/device_verbs.hpp"
#include "support/deviations.hpp"
#include "support/hang_guard.hpp"

namespace {

using namespace sparsecoll::test;

constexpr std::size_t kLength = 80000, kKept = 40000;

std::vector<float> input(std::uint64_t call) {
  return make_data<float>(Kind::kHeavyTail, kLength, rank_in(MPI_COMM_WORLD),
                          size_of(MPI_COMM_WORLD), call);
}

sparsecollResult_t call(const Mode& mode, float* x, sparsecollComm_t comm, std::size_t k = kKept) {
  return call_dense_verb<float>(mode.verb, {x, x, kLength, k}, comm);
}

/// Makes calls in which the ranks' vectors are alternately on the host and on a device. So messages
/// between devices reach ranks that work on the host, before and after these have used a device.
std::vector<std::vector<float>> results(Verdict& verdict, const Mode& mode, bool mixed) {
  const MpiCommunicator comm(MPI_COMM_WORLD, config_of(mode));
  const int rank = rank_in(MPI_COMM_WORLD);
  std::vector<std::vector<float>> all;
  for (std::uint64_t number = 0; number < 6; ++number) {
    const bool there = mixed && (static_cast<std::uint64_t>(rank) + number / 2) % 2 == 0;
    DeviceArray<float> x(input(number));
    HostArray<float> y(input(number));
    verdict.check(std::string("mixed places, ") + mode.name,
                  expect("the call", call(mode, there ? x.get() : y.get(), comm.get()),
                         sparsecollSuccess, comm.get()));
    all.push_back(there ? x.read() : y.read());
  }
  return all;
}

void check_mixed(Verdict& verdict) {
  const aware::Moved before = aware::moved();
  for (const Mode& mode :
       {kAllgather, kOktopk, kTopkA2A, kHierarchical, kSharded, kDense, kGtopk}) {
    const auto want = results(verdict, mode, false);
    verdict.require(std::string("mixed places, the same, ") + mode.name,
                    results(verdict, mode, true) == want);
  }
  const aware::Moved after = aware::moved();
  verdict.require("some come to a device",
                  after.received > before.received || size_of(MPI_COMM_WORLD) == 1);
}

/// One rank passes other, or bad, arguments. All ranks are notified, and continue.
void check_disagreement(Verdict& verdict) {
  const int rank = rank_in(MPI_COMM_WORLD), P = size_of(MPI_COMM_WORLD);
  for (const Mode& mode : {kAllgather, kOktopk, kGtopk}) {
    const MpiCommunicator comm(MPI_COMM_WORLD, config_of(mode));
    DeviceArray<float> x(kLength), y(input(7));
    std::vector<float> first;
    for (int odd = 0; odd < P; ++odd) {
      const std::string what = std::string(mode.name) + ", rank " + std::to_string(odd);
      x.put(input(7));
      const auto got = call(mode, x.get(), comm.get(), rank == odd ? kKept + 1 : kKept);
      const auto want = P == 1 ? sparsecollSuccess : sparsecollInvalidUsage;
      verdict.check(what + " differs", expect("the call", got, want, comm.get()));
      verdict.require(what + " differs: nothing was written", P == 1 || x.read() == input(7));

      sparsecollResult_t refused = sparsecollSuccess;
      if (rank == odd)
        refused = call(mode, nullptr, comm.get());
      else
        refused = call(mode, x.get(), comm.get());
      verdict.check(
          what + " has no vector",
          expect("the call", refused,
                 rank == odd ? sparsecollInvalidArgument : sparsecollInvalidUsage, comm.get()));
      x.put(input(7));
      verdict.check(what + ": a good call", expect("the call", call(mode, x.get(), comm.get()),
                                                   sparsecollSuccess, comm.get()));
      if (first.empty()) first = x.read();
      verdict.require(what + ": the same result", x.read() == first);
      if (verdict.any_failed()) return;
    }
  }
}

/// Messages stay under way; what MPI may still touch is kept, and the communicator ends.
std::string hold_up(bool blocking, int deadline_ms) {
  sparsecollConfig_t config = config_of(kGtopk);
  config.timeoutMs = deadline_ms;
  config.blocking = blocking;
  sparsecollComm_t comm = nullptr;
  std::string wrong = expect("init", sparsecollCommInitMpi(&comm, MPI_COMM_WORLD, &config),
                             sparsecollSuccess, nullptr);
  if (fails_on_any(wrong)) {
    sparsecollCommDestroy(comm);
    return wrong;
  }
  DeviceArray<float> x(input(1));
  const auto done = [&] {
    const auto queued = call(kGtopk, x.get(), comm);
    return queued == sparsecollSuccess && !blocking ? sparsecollCommSynchronize(comm) : queued;
  };
  wrong = expect("a good call", done(), sparsecollSuccess, comm);
  if (fails_on_any(wrong)) {
    sparsecollCommDestroy(comm);
    return wrong;
  }
  const auto require = [&](const char* what, bool good) {
    if (!good) wrong += std::string(wrong.empty() ? "" : ", ") + "not " + what;
  };
  aware::hold(true);
  const sparsecollResult_t got = done();
  require("told so", got == sparsecollTimeout || got == sparsecollRemoteError);
  sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
  sparsecollCommGetStats(comm, sparsecollStatsTotal, &stats);
  require("kept and counted", stats.abandonedBytes >= 65536);
  // A rank that computes until its deadline has sent nothing, and says so.
  if (!wrong.empty()) wrong += " after " + explain(got, comm) + "; ";
  wrong += expect("destroy", sparsecollCommDestroy(comm), sparsecollSuccess, nullptr);
  require("there: memory under way", aware::under_way_is_there());
  MPI_Barrier(MPI_COMM_WORLD);
  aware::hold(false);
  return wrong;
}

void check_abandonment(Verdict& verdict) {
  if (size_of(MPI_COMM_WORLD) == 1) return;
  for (const bool blocking : {true, false})
    verdict.check(
        blocking ? "held up" : "held up, queued",
        with_longer_deadlines_of_ranks(1500, [blocking](int ms) { return hold_up(blocking, ms); }));
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  Verdict verdict;
  {
    const HangGuard guard("messages between devices, faults", 1);
    for (const auto check : {check_mixed, check_disagreement, check_abandonment}) {
      check(verdict);
      if (verdict.any_failed()) break;
    }
  }
  const int code = verdict.report("mpi_direct_faults");
  MPI_Finalize();
  return code;
}
