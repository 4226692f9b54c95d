// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests that the transport between threads keeps the contract of Transport.

#include <barrier>

#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/config.hpp"
#include "support/data.hpp"
#include "support/ranks.hpp"
#include "transport/contract.hpp"
#include "transport/local.hpp"

namespace sparsecoll::contract {
namespace {

/// State that the ranks of one case share.
struct Team {
  explicit Team(int size) : barrier(size), numbers(static_cast<size_t>(size)) {
    if (!test::small_run()) return;
    traits.sizes = {0, 1, 63, 64, 65, 4096, 100003};
    traits.large = 100003;
  }
  std::barrier<> barrier;
  std::vector<uint64_t> numbers;
  Traits traits{
      .interrupt_leaves = true, .knows_calls = true, .recovers = true, .recovery_knows_gone = true};
};

class ThreadRank final : public Rank {
 public:
  ThreadRank(std::unique_ptr<Transport> transport, Team& team)
      : transport_(std::move(transport)), team_(team) {}
  /// Leaves the barrier, so that no rank waits there for a rank that has failed.
  ~ThreadRank() override { team_.barrier.arrive_and_drop(); }

  Transport& transport() override { return *transport_; }
  void destroy() override { transport_.reset(); }
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
  const std::vector<int> sizes =
      test::small_run() ? std::vector{1, 2, 3, 5} : std::vector{1, 2, 3, 5, 9};
  for (const Case& each : cases())
    for (const int P : sizes) CHECK(run_on_threads(each, P) == "");
}

TEST_CASE("threads keep it while messages are delayed") {
  const uint64_t last = test::small_run() ? 1 : 3;
  for (uint64_t seed = 1; seed <= last; ++seed) {
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
