// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of statistics: all bytes sent were received, and totals are the sums over the calls.

#include <cstddef>
#include <cstring>

#include "support/catch.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

sparsecollStats_t stats_of(sparsecollComm_t comm, int which) {
  sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
  REQUIRE(sparsecollCommGetStats(comm, which, &stats) == sparsecollSuccess);
  return stats;
}

void check_one_rank(const sparsecollStats_t& last, const Mode& mode, int P) {
  CHECK((last.bytesSent > 0) == (P > 1));
  CHECK((last.bytesReceived > 0) == (P > 1));
  CHECK((last.messagesSent > 0) == (P > 1));
  CHECK(last.abandonedBytes == 0);
  for (const double seconds :
       {last.selectSeconds, last.packSeconds, last.exchangeSeconds, last.reduceSeconds}) {
    CHECK(seconds >= 0.0);
    CHECK(seconds < 60.0);
  }
  if (mode.verb != Verb::kSparse) return;
  if (mode.algorithm != sparsecollAlgoAuto) CHECK(last.algorithm == mode.algorithm);
  if (mode.algorithm == sparsecollAlgoAuto) {
    CHECK((last.algorithm == sparsecollAlgoAllgather || last.algorithm == sparsecollAlgoOktopk));
  }
}

/// Makes one call and checks every rank's last statistics.
void check_call(const Ranks& ranks, const Mode& mode, std::uint64_t seed) {
  const Case c{seed, mode, 3000, 40, Kind::kHeavyTail};
  CHECK(run_case(ranks, c) == "");
  const oracle::DenseInputs<float> in{make_data_of_all<float>(c.kind, c.n, ranks.size(), c.seed),
                                      {}};
  const auto want = expected(mode, in, c.k, c.op);
  std::size_t sent = 0;
  std::size_t received = 0;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    INFO(describe(c, ranks.size()) << " rank=" << rank);
    const sparsecollStats_t last = stats_of(ranks.comm(rank), sparsecollStatsLast);
    check_one_rank(last, mode, ranks.size());
    sent += last.bytesSent;
    received += last.bytesReceived;
    if (!has_coordinate_form(mode)) continue;
    CHECK(last.selected == want.selected[static_cast<std::size_t>(rank)]);
    CHECK(last.result == want.delivered);
  }
  INFO(describe(c, ranks.size()));
  CHECK(sent == received);
}

TEST_CASE("bytes sent are bytes received, and selections are counted") {
  for (const int P : {1, 2, 3, 4, 7, 8}) {
    for (const Mode& mode : {kAuto, kAllgather, kOktopk, kDense, kGtopk}) {
      const Ranks ranks(P, config_of(mode));
      for (std::uint64_t call = 0; call < 3; ++call) check_call(ranks, mode, base_seed() + call);
    }
  }
}

TEST_CASE("a first call by Auto does not count what it sends to measure the network") {
  for (const int P : {2, 3, 8}) {
    for (const int reordered : {0, 1}) {
      sparsecollConfig_t config = default_config();
      config.allowReordered = reordered;
      const Ranks ranks(P, config);
      CHECK(run_case(ranks, Case{base_seed(), kAuto, 3000, 40, Kind::kHeavyTail}) == "");
      const sparsecollStats_t first = stats_of(ranks.comm(0), sparsecollStatsTotal);
      INFO("P " << P << ", algorithm " << first.algorithm);
      constexpr std::size_t kOneProbe = 131072;
      CHECK(first.bytesSent > 0);
      CHECK(first.bytesSent < kOneProbe);
      CHECK(first.bytesReceived > 0);
      CHECK(first.bytesReceived < kOneProbe);
    }
  }
}

TEST_CASE("totals are the sum of all calls") {
  const Ranks ranks(3, default_config());
  sparsecollStats_t sum = SPARSECOLL_STATS_INITIALIZER;
  for (std::uint64_t call = 0; call < 10; ++call) {
    CHECK(run_case(ranks, Case{call, call % 3 == 0 ? kGtopk : kAuto, 500, 20}) == "");
    const sparsecollStats_t last = stats_of(ranks.comm(1), sparsecollStatsLast);
    sum.bytesSent += last.bytesSent;
    sum.bytesReceived += last.bytesReceived;
    sum.messagesSent += last.messagesSent;
    sum.selected += last.selected;
    sum.result += last.result;
    sum.exchangeSeconds += last.exchangeSeconds;
  }
  const sparsecollStats_t total = stats_of(ranks.comm(1), sparsecollStatsTotal);
  CHECK(total.bytesSent == sum.bytesSent);
  CHECK(total.bytesReceived == sum.bytesReceived);
  CHECK(total.messagesSent == sum.messagesSent);
  CHECK(total.selected == sum.selected);
  CHECK(total.result == sum.result);
  CHECK(total.exchangeSeconds == Approx(sum.exchangeSeconds));
}

TEST_CASE("before any call everything is 0") {
  const Ranks ranks(2, default_config());
  for (const int which : {sparsecollStatsLast, sparsecollStatsTotal}) {
    const sparsecollStats_t stats = stats_of(ranks.comm(0), which);
    CHECK(stats.bytesSent == 0);
    CHECK(stats.messagesSent == 0);
    CHECK(stats.result == 0);
    CHECK(stats.exchangeSeconds == 0.0);
  }
}

TEST_CASE("a shorter struct is filled up to its size and no further") {
  const Ranks ranks(2, default_config());
  CHECK(run_case(ranks, Case{1, kAuto, 500, 20}) == "");
  const sparsecollStats_t whole = stats_of(ranks.comm(0), sparsecollStatsLast);
  sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
  stats.size = offsetof(sparsecollStats_t, selected);
  stats.selected = 4711;
  stats.result = 4712;
  REQUIRE(sparsecollCommGetStats(ranks.comm(0), sparsecollStatsLast, &stats) == sparsecollSuccess);
  CHECK(stats.bytesSent == whole.bytesSent);
  CHECK(stats.selected == 4711);
  CHECK(stats.result == 4712);
}

TEST_CASE("statistics refuse what they cannot fill") {
  const Ranks ranks(1, default_config());
  sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
  CHECK(sparsecollCommGetStats(ranks.comm(0), 2, &stats) == sparsecollInvalidArgument);
  CHECK(sparsecollCommGetStats(ranks.comm(0), -1, &stats) == sparsecollInvalidArgument);
  CHECK(sparsecollCommGetStats(ranks.comm(0), 0, nullptr) == sparsecollInvalidArgument);
  CHECK(sparsecollCommGetStats(nullptr, 0, &stats) == sparsecollInvalidArgument);
  stats.magic = 0;
  CHECK(sparsecollCommGetStats(ranks.comm(0), 0, &stats) == sparsecollInvalidArgument);
  sparsecollStats_t zeros;
  std::memset(&zeros, 0, sizeof zeros);
  CHECK(sparsecollCommGetStats(ranks.comm(0), 0, &zeros) == sparsecollInvalidArgument);
}

}  // namespace
}  // namespace sparsecoll::test
