// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests that the simulated network of perf/ keeps the contract of Transport.

#include "simulated/network.hpp"
#include "support/catch.hpp"
#include "support/ranks.hpp"
#include "transport/contract.hpp"

namespace sparsecoll::contract {
namespace {

/// State that the ranks of one case share. The ranks run in turns, so one at a time uses it.
struct Team {
  Team(int size, const perf::NetworkModel& model)
      : time(size, 0),
        transports(perf::make_simulated_transports(time, size, model)),
        numbers(static_cast<size_t>(size)) {}
  perf::VirtualTime time;
  std::vector<std::unique_ptr<Transport>> transports;
  std::vector<uint64_t> numbers;
  Traits traits{.real_time = false};
};

class SimulatedRank final : public Rank {
 public:
  SimulatedRank(int rank, Team& team)
      : rank_(rank), team_(team), transport_(team.transports[static_cast<size_t>(rank)]) {
    team_.time.start(rank_);
  }
  ~SimulatedRank() override {
    transport_.reset();
    team_.time.finish(rank_);
  }

  Transport& transport() override { return *transport_; }
  const Traits& traits() const override { return team_.traits; }
  void barrier() override { team_.time.barrier(rank_); }
  std::vector<uint64_t> allgather(uint64_t own) override {
    team_.numbers[static_cast<size_t>(rank_)] = own;
    barrier();
    const std::vector<uint64_t> all = team_.numbers;
    barrier();  // no rank writes again before all have read
    return all;
  }

 private:
  int rank_;
  Team& team_;
  std::unique_ptr<Transport>& transport_;
};

TEST_CASE("the simulated network keeps the contract of a transport") {
  for (const int ranks_per_node : {1, 2})
    for (const Case& each : cases())
      for (const int P : {1, 2, 3, 5}) {
        perf::NetworkModel model;
        model.ranks_per_node = ranks_per_node;
        model.compute = false;
        Team team(P, model);
        CHECK(test::run_threads(each.name, P, [&](int r) {
                SimulatedRank rank(r, team);
                return run(each, rank);
              }) == "");
      }
}

}  // namespace
}  // namespace sparsecoll::contract
