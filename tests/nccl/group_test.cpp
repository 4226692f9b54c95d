// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Groups over NCCL: member calls that share exchanges. ../devices/group_test.cpp tests results.

#include "nccl/api_team.hpp"
#include "support/catch.hpp"
#include "support/config.hpp"

namespace sparsecoll::nccl_tests {
namespace {

constexpr size_t kCount = 40;

/// The cost of calls, summed over all ranks.
struct Cost {
  size_t launches = 0;  ///< groups of NCCL
  size_t waits = 0;     ///< how often the host has waited for a device
};
Cost cost_so_far() { return {nccl_stand_in::groups_launched(), simt::waits()}; }

struct Costs {
  Cost alone;     ///< one call
  Cost together;  ///< several such calls in a group
};

/// Returns the costs in the steady state of calls that select from the same values.
Costs costs(int P, const test::Mode& mode, size_t calls) {
  const Team team(P, test::config_of(mode));
  std::vector<std::unique_ptr<Tensors>> tensors(static_cast<size_t>(P));
  const auto count = [&](size_t members) {
    const Cost before = cost_so_far();
    const std::string wrong = team.run("calls", [&](int rank) {
      auto& own = tensors[static_cast<size_t>(rank)];
      const sparsecollComm_t comm = team.comm(rank);
      if (!own) own = std::make_unique<Tensors>(comm);
      const Call call{mode.verb, kCount, 4};
      const auto make = [&](size_t member) {
        return own->make(call, own->in.get(), own->out.get() + member * kCount, nullptr);
      };
      if (members == 1) return result_mismatch(own->finish(make(0)), sparsecollSuccess, comm);
      const auto queued = test::in_group(comm, [&] {
        for (size_t member = 0; member < members; ++member) make(member);
      });
      return result_mismatch(own->finish(queued), sparsecollSuccess, comm);
    });
    if (!wrong.empty()) throw std::runtime_error(wrong);
    const Cost after = cost_so_far();
    return Cost{after.launches - before.launches, after.waits - before.waits};
  };
  for (int warm_up = 0; warm_up < 3; ++warm_up) {
    count(1);
    count(calls);
  }
  return {count(1), count(calls)};
}

TEST_CASE("calls of a group share exchanges") {
  const auto check = [](int P, const test::Mode& mode) {
    CAPTURE(P, mode.name);
    const Costs got = costs(P, mode, 3);
    CHECK(got.alone.launches > 0);
    CHECK(got.together.launches == got.alone.launches);
    CHECK(got.together.waits < 3 * got.alone.waits);
  };
  // The number of rounds of gTop-k depends on P.
  for (const int P : {2, 3, 4, 5, 6, 7, 9}) check(P, test::kGtopk);
  for (const int P : {2, 5})
    for (const test::Mode& mode : test::kSparseModes)
      if (mode.algorithm != sparsecollAlgoAuto && !test::info_of(mode).uneven) check(P, mode);
}

TEST_CASE("calls in which ranks make different numbers of exchanges run one after another") {
  for (const int P : {2, 3, 5}) {
    CAPTURE(P);
    for (const test::Mode& mode : test::kSparseModes) {
      if (!test::info_of(mode).uneven) continue;
      CAPTURE(mode.name);
      const Costs got = costs(P, mode, 3);
      CHECK(got.together.launches == 3 * got.alone.launches);
    }
  }
}

TEST_CASE("a group of many more calls than ranks, with and without selection") {
  constexpr size_t kMembers = 70;
  const Team team(3, test::config_of(test::kOktopk));
  CHECK(team.run("many", [&](int rank) {
    const sparsecollComm_t comm = team.comm(rank);
    const devices::OwnStream stream;
    const DeviceArray<float> in(std::vector<float>(kMembers, 1)), out(kMembers);
    std::string wrong;
    for (int round = 0; round < 2; ++round) {
      const auto queued = test::in_group(comm, [&] {
        for (size_t m = 0; m < kMembers; ++m) {
          const auto verb = m % 3 == 0 ? gtopkAllreduce : sparseAllreduce;
          verb(in.get() + m, out.get() + m, 1, m % 5 == 0 ? 0 : 1, sparsecollFloat32, sparsecollSum,
               nullptr, comm, stream);
        }
      });
      wrong += result_mismatch(queued, sparsecollSuccess, comm);
      wrong += result_mismatch(sparsecollCommSynchronize(comm), sparsecollSuccess, comm);
      const std::vector<float> got = out.read(stream);
      for (size_t m = 0; m < kMembers; ++m)
        if (got[m] != (m % 5 == 0 ? 0.0f : 3.0f))
          wrong += text("member ", m, " gave ", got[m], "; ");
    }
    return wrong;
  }) == "");
}

}  // namespace
}  // namespace sparsecoll::nccl_tests
