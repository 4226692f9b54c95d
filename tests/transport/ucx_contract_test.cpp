// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests that the transport over UCX keeps the contract of Transport. Each rank is a thread with a
// worker of its own.

#include <cstring>

#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/ranks.hpp"
#include "support/team_bootstrap.hpp"
#include "transport/contract.hpp"
#include "transport/ucx/transport.hpp"

namespace sparsecoll::contract {
namespace {

using unit::Team;
using unit::TeamBootstrap;

class UcxTestRank final : public Rank {
 public:
  UcxTestRank(Team& team, const UcxRank& own, const Traits& traits) : team_(team), traits_(traits) {
    TeamBootstrap bootstrap(team, own.rank);
    transport_ = make_ucx_transport(own, bootstrap, Deadline::after(20000));
  }
  ~UcxTestRank() override { team_.leave(); }

  Transport& transport() override { return *transport_; }
  void destroy() override { transport_.reset(); }
  const Traits& traits() const override { return traits_; }
  void barrier() override { team_.barrier(); }
  std::vector<uint64_t> allgather(uint64_t own) override {
    const std::vector<std::byte> all =
        team_.allgather(transport_->rank(), std::as_bytes(std::span(&own, 1)));
    std::vector<uint64_t> numbers(all.size() / sizeof own);
    std::memcpy(numbers.data(), all.data(), all.size());
    return numbers;
  }

 private:
  Team& team_;
  const Traits& traits_;
  std::unique_ptr<Transport> transport_;
};

/// Sizes around those at which UCX changes its protocol.
Traits traits() {
  Traits traits;
  traits.sizes = {0,    1,     63,    64,    65,    183,   184,    1000,   8000,   8191,   8192,
                  8193, 16384, 32768, 65535, 65536, 65537, 100003, 262143, 262145, 1000001};
  traits.close_is_collective = true;
  traits.knows_gone = false;
  traits.recovers = true;
  traits.recovery_knows_gone = true;
  return traits;
}

TEST_CASE("ranks over UCX keep the contract of a transport") {
  const Traits traits = contract::traits();
  // Those that sleep at once, and those that never do.
  for (const auto& [spin, sizes] :
       {std::pair{0, std::vector{1, 2, 3, 5}}, std::pair{1000000, std::vector{3}}}) {
    for (const Case& each : cases()) {
      for (const int P : sizes) {
        Team team(P);
        const UcxRank own{0, P, std::chrono::microseconds(spin)};
        const std::string what = text(each.name, ", P=", P, ", spin ", spin);
        CHECK(test::run_threads(what, P, [&](int r) {
                UcxRank self = own;
                self.rank = r;
                UcxTestRank rank(team, self, traits);
                return run(each, rank);
              }) == "");
      }
    }
  }
}

}  // namespace
}  // namespace sparsecoll::contract
