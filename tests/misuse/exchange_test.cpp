// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests sparseAlltoall and sparseReduceScatter if one rank makes another call than the others, or
// an invalid one.

#include "misuse/exchange.hpp"

#include "support/catch.hpp"
#include "support/deviations.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::test {
namespace {

std::string differ(const Ranks& ranks, const Difference& difference, int odd) {
  const std::string what = std::string(kFunction[difference.reduces]) + ", rank " +
                           std::to_string(odd) + ": " + difference.name;
  return ranks.run(what, [&](int rank) {
    ExchangeCall call(ranks.comm(rank));
    call.reduces = difference.reduces;
    if (rank == odd) difference.apply(call);
    const std::vector<std::uint64_t> before = call.image();
    Attempt done{};
    done.result = call.run();
    done.message = sparsecollGetLastError(ranks.comm(rank));
    done.changed = call.image() != before;
    return judge(done,
                 {difference.name, !difference.reduces, difference.bad, nullptr, difference.words},
                 rank, odd);
  });
}

/// Checks that both verbs still work.
std::string good_calls(const Ranks& ranks) {
  return ranks.run("good calls", [&](int rank) {
    const std::string verdict =
        join_case(ranks.comm(rank), AlltoallCase{1, 300, SparseKind::kRandom, BoundsKind::kRandom});
    if (!verdict.empty()) return verdict;
    return join_case(ranks.comm(rank), ReduceScatterCase{1, 300, 20, Kind::kHeavyTail});
  });
}

TEST_CASE("one rank deviates from an exchange") {
  const Ranks ranks(kRanks, default_config());
  for (const Difference& difference : all_differences()) {
    for (int odd = 0; odd < kRanks; ++odd) {
      CHECK(differ(ranks, difference, odd) == "");
      REQUIRE(good_calls(ranks) == "");
    }
  }
}

TEST_CASE("borders beyond those that are named one by one are compared too") {
  const int P = 12;
  const Ranks ranks(P, default_config());
  CHECK(ranks.run("bounds of 12 ranks", [&](int rank) -> std::string {
    ExchangeCall call(ranks.comm(rank));
    call.counts.assign(P, 0);
    call.recvcounts = call.counts.data();
    call.borders = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, kCount};
    if (rank == 5) call.borders[9] = 8;
    call.bounds = call.borders.data();
    const sparsecollResult_t result = call.run();
    const std::string message = sparsecollGetLastError(ranks.comm(rank));
    if (message.find("bounds") == std::string::npos) return "no word of bounds: " + message;
    return expect("the verb", result, sparsecollInvalidUsage, ranks.comm(rank));
  }) == "");
}

TEST_CASE("NULL and the borders that it stands for are the same") {
  const Ranks ranks(3, default_config());
  CHECK(ranks.run("NULL", [&](int rank) {
    ExchangeCall call(ranks.comm(rank));
    call.borders = {0, 33, 66, kCount};
    call.bounds = rank == 1 ? nullptr : call.borders.data();
    return expect("the verb", call.run(), sparsecollSuccess, ranks.comm(rank));
  }) == "");
}

TEST_CASE("recvcounts can be fetched after sparseAlltoall only") {
  const Ranks ranks(2, default_config());
  CHECK(ranks.run("fetch", [&](int rank) {
    const sparsecollComm_t comm = ranks.comm(rank);
    ExchangeCall call(comm);
    call.reduces = true;
    call.bounds = nullptr;
    call.k = kCount;
    call.out.capacity = 0;
    std::string verdict = expect("a small call", call.run(), sparsecollTruncated, comm);
    call.out.capacity = 50;
    if (!verdict.empty()) return verdict;
    verdict = expect("counts of a reduce-scatter",
                     sparsecollFetch(&call.out, call.counts.data(), comm, nullptr),
                     sparsecollInvalidArgument, comm);
    if (!verdict.empty()) return verdict;
    return expect("fetch", sparsecollFetch(&call.out, nullptr, comm, nullptr), sparsecollSuccess,
                  comm);
  }) == "");
}

}  // namespace
}  // namespace sparsecoll::test
