// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "nccl/contract_ranks.hpp"

#include <barrier>
#include <memory>

#include "core/error.hpp"
#include "devices/device_array.hpp"
#include "support/config.hpp"
#include "support/longer_deadlines.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::nccl_tests {

using stream_contract::Case;
using stream_contract::Traits;

namespace {

Traits traits() {
  Traits traits;
  if (test::small_run()) traits.large = 100000;
  traits.messages = {.ended = "closed or interrupted",
                     .missing_peer = "not all of rank 1 have made this exchange",
                     .missing_in_split = "ncclCommSplit: not all ranks",
                     .broken = "remote"};
  return traits;
}

/// State that the ranks of one case share. A rank that has failed interrupts the transports of all,
/// because other ranks may wait for it.
struct Team {
  explicit Team(const ContractRanks& of)
      : ranks(of),
        barrier(static_cast<std::ptrdiff_t>(of.comms.size())),
        transports(of.comms.size()) {}

  const ContractRanks& ranks;
  const Traits traits = nccl_tests::traits();
  std::barrier<> barrier;
  std::vector<std::unique_ptr<StreamTransport>> transports;
};

class ThreadRank final : public stream_contract::Rank {
 public:
  ThreadRank(int rank, Team& team) : rank_(rank), team_(team) {}
  /// Leaves the barrier, so that no rank waits there for a rank that has failed.
  ~ThreadRank() override { team_.barrier.arrive_and_drop(); }

  StreamTransport& transport() override { return *team_.transports[index()]; }
  const Traits& traits() const override { return team_.traits; }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(team_.transports.size()); }
  int device() const override { return team_.ranks.devices[index()]; }
  void barrier() override { team_.barrier.arrive_and_wait(); }
  bool break_peers() override {
    const auto& break_child = team_.ranks.break_child;
    return break_child && break_child(team_.ranks.comms[index()]);
  }

 private:
  size_t index() const { return static_cast<size_t>(rank_); }

  const int rank_;
  Team& team_;
};

/// Runs body(rank) in a thread for each rank, with its device as the current one.
std::string on_threads(const std::string& what, const ContractRanks& ranks,
                       const std::function<std::string(int)>& body) {
  return test::run_threads(what, static_cast<int>(ranks.comms.size()), [&](int rank) {
    devices::check(cudaSetDevice(ranks.devices[static_cast<size_t>(rank)]));
    return body(rank);
  });
}

std::string run_once(const Case& which, const ContractRanks& ranks) {
  const std::string name = text(which.name, ", P=", ranks.comms.size());
  Team team(ranks);
  std::string wrong = on_threads(name + ", init", ranks, [&](int rank) -> std::string {
    const auto r = static_cast<size_t>(rank);
    team.transports[r] = make_nccl_transport(ranks.comms[r], Deadline::after(60000));
    return "";
  });
  if (!wrong.empty()) return wrong;
  devices::deferred_frees().ranks_begin();
  wrong = on_threads(name, ranks, [&](int rank) {
    ThreadRank own(rank, team);
    std::string own_wrong = stream_contract::run(which, own);
    if (!own_wrong.empty())
      for (const auto& transport : team.transports) transport->interrupt();
    return own_wrong;
  });
  wrong += on_threads(name + ", end", ranks, [&](int rank) -> std::string {
    team.transports[static_cast<size_t>(rank)].reset();
    return "";
  });
  devices::deferred_frees().ranks_end();
  return wrong;
}

}  // namespace

std::string run_contract(const Case& which, const ContractRanks& ranks) {
  return test::unless_late_by_chance([&] { return run_once(which, ranks); });
}

}  // namespace sparsecoll::nccl_tests
