// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests push-sum over MPI: steps are compared with mixing matrices, messages outlive their call,
// other calls come in between, and communicators are destroyed while gossip is under way.

#include "support/push_sum.hpp"

#include <chrono>
#include <cmath>
#include <thread>

#include "support/data.hpp"
#include "support/hang_guard.hpp"
#include "support/mpi_verdict.hpp"
#include "support/sweep.hpp"

namespace {

using namespace sparsecoll::test;
namespace oracle = sparsecoll::oracle;

/// Returns the vectors of all ranks on all ranks.
std::vector<std::vector<double>> gather(const std::vector<double>& mine, int P) {
  std::vector<double> all(mine.size() * static_cast<std::size_t>(P));
  MPI_Allgather(mine.data(), static_cast<int>(mine.size()), MPI_DOUBLE, all.data(),
                static_cast<int>(mine.size()), MPI_DOUBLE, MPI_COMM_WORLD);
  std::vector<std::vector<double>> vectors;
  for (auto at = all.begin(); at != all.end(); at += static_cast<std::ptrdiff_t>(mine.size()))
    vectors.emplace_back(at, at + static_cast<std::ptrdiff_t>(mine.size()));
  return vectors;
}

void check_steps(Verdict& verdict, const GraphCase& graph, int P) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const MpiCommunicator comm(MPI_COMM_WORLD, default_config());
  const auto start = make_data_of_all<double>(Kind::kWideIntegers, 200, P, base_seed());
  oracle::PushSumReplay replay(start);
  std::vector<double> x = start[static_cast<std::size_t>(rank)], estimate(x.size());
  const PushSum<double> state(comm.get(), x.size(), graph.config());
  for (std::uint64_t t = 0; t < 8; ++t) {
    verdict.check(graph.name,
                  expect("step", state.step(x, &estimate), sparsecollSuccess, comm.get()));
    replay.step_of_all(graph.matrix(P, t));
    verdict.check(graph.name, distance("x", x, replay.x(rank), 4e-15));
    verdict.require("weight", std::fabs(state.weight() - replay.weight(rank)) < 1e-14);
  }
}

/// A run of steps that overlap, with small messages or with messages that MPI does not send
/// eagerly.
struct Overlap {
  int max_delay;
  std::size_t n;
  std::size_t k;
};

void check_overlap(Verdict& verdict, const Overlap& overlap, int P) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const MpiCommunicator comm(MPI_COMM_WORLD, default_config());
  sparsecollPushSumConfig_t config = kGraphs[3].config();
  config.maxDelay = overlap.max_delay;
  config.k = overlap.k;
  config.mixing = 0.5;
  std::vector<double> x = make_data<double>(Kind::kWideIntegers, overlap.n, rank, P, 1);
  const std::vector<double> sum = sum_of(gather(x, P));
  const PushSum<double> state(comm.get(), x.size(), config);
  const std::string what = "maxDelay " + std::to_string(overlap.max_delay) + ", n " +
                           std::to_string(overlap.n) + ", k " + std::to_string(overlap.k);
  for (std::uint64_t t = 0; t < 12; ++t) {
    verdict.check(what, expect("step", state.step(x), sparsecollSuccess, comm.get()));
    // Ranks are late in turn, with other calls in between.
    if (t % static_cast<std::uint64_t>(P) == static_cast<std::uint64_t>(rank))
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    if (t % 4 == 3)
      verdict.check(what, join_case(comm.get(), Case{t, kOktopk, 300, 20, Kind::kHeavyTail}));
  }
  verdict.check(what, expect("drain", state.drain(x), sparsecollSuccess, comm.get()));
  verdict.check(what, distance("sum of x", sum_of(gather(x, P)), sum, 1e-12));
  const std::vector<double> w = sum_of(gather({state.weight()}, P));
  verdict.require(what + ": sum of w", std::fabs(w[0] - P) <= 1e-12 * P);
}

/// No rank drains. Messages in flight must neither make a rank wait nor be accessed later.
void check_destroy(Verdict& verdict, bool state_first) {
  MpiCommunicator comm(MPI_COMM_WORLD, default_config());
  sparsecollPushSumConfig_t config = kExponential.config();
  config.maxDelay = -1;
  std::vector<double> x(300000, 1.0);
  const PushSum<double> state(comm.get(), x.size(), config);
  for (int t = 0; t < 5; ++t)
    verdict.check("destroy", expect("step", state.step(x), sparsecollSuccess, comm.get()));
  if (state_first)
    verdict.require("the state", sparsecollPushSumDestroy(state.handle()) == sparsecollSuccess);
  verdict.require("the communicator", comm.destroy() == sparsecollSuccess);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int code = 0;
  {
    const HangGuard guard("mpi push_sum", 1);
    const int P = size_of(MPI_COMM_WORLD);
    Verdict verdict;
    for (const GraphCase& graph : kGraphs) {
      check_steps(verdict, graph, P);
      if (verdict.any_failed()) break;
    }
    const Overlap overlaps[] = {{0, 200000, 0}, {1, 100, 0},      {2, 200000, 0}, {-1, 200000, 0},
                                {3, 100, 10},   {2, 50000, 5000}, {-1, 100, 10}};
    for (const Overlap& overlap : overlaps) {
      if (verdict.any_failed()) break;
      check_overlap(verdict, overlap, P);
    }
    for (const bool state_first : {false, true})
      if (!verdict.any_failed()) check_destroy(verdict, state_first);
    code = verdict.report("mpi push_sum");
  }
  MPI_Finalize();
  return code;
}
