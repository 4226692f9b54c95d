// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests that the transport between threads keeps the contract of Transport.

#include <barrier>

#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/ranks.hpp"
#include "transport/contract.hpp"
#include "transport/local.hpp"

namespace sparsecoll::contract {
namespace {

/// State that the ranks of one case share.
struct Team {
  explicit Team(int size) : barrier(size), numbers(static_cast<size_t>(size)) {}
  std::barrier<> barrier;
  std::vector<uint64_t> numbers;
  Traits traits{.interrupt_leaves = true, .knows_calls = true};
};

class ThreadRank final : public Rank {
 public:
  ThreadRank(std::unique_ptr<Transport> transport, Team& team)
      : transport_(std::move(transport)), team_(team) {}
  /// Leaves the barrier, so that no rank waits there for a rank that has failed.
  ~ThreadRank() override { team_.barrier.arrive_and_drop(); }

  Transport& transport() override { return *transport_; }
  const Traits& traits() const override { return team_.traits; }
  void barrier() override { team_.barrier.arrive_and_wait(); }
  std::vector<uint64_t> allgather(uint64_t own) override {
    team_.numbers[static_cast<size_t>(transport_->rank())] = own;
    barrier();
    const std::vector<uint64_t> all = team_.numbers;
    barrier();  // no rank writes again before all have read
    return all;
  }

 private:
  std::unique_ptr<Transport> transport_;
  Team& team_;
};

std::string run_on_threads(const Case& each, int P, const FaultPlan& plan = {}) {
  std::vector<std::unique_ptr<Transport>> transports = make_local_transports(P, plan);
  Team team(P);
  return test::run_threads(text(each.name, ", P=", P), P, [&](int r) {
    ThreadRank rank(std::move(transports[static_cast<size_t>(r)]), team);
    return run(each, rank);
  });
}

TEST_CASE("threads keep the contract of a transport") {
  for (const Case& each : cases())
    for (const int P : {1, 2, 3, 5, 9}) CHECK(run_on_threads(each, P) == "");
}

TEST_CASE("threads keep it while messages are delayed") {
  for (const uint64_t seed : {1, 2, 3}) {
    const FaultPlan delays = [seed](int from, int to, size_t number) {
      MessageFault fault;
      const uint64_t dice = test::noise(seed, static_cast<uint64_t>(from * 16 + to), number);
      fault.delay = std::chrono::microseconds(dice % 3 == 0 ? dice % 2000 : 0);
      return fault;
    };
    for (const Case& each : cases()) CHECK(run_on_threads(each, 4, delays) == "");
  }
}

}  // namespace
}  // namespace sparsecoll::contract
