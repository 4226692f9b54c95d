// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Sharded with ranks on nodes of any size and in any order. A program of its own, because the
// environment belongs to the process.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/exchange_sweep.hpp"
#include "support/placement.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"
#include "support/variable.hpp"

namespace sparsecoll::test {
namespace {

constexpr const char* kVariable = "SPARSECOLL_RANKS_PER_NODE";
const Mode kShardedBf16 = over_bf16(kSharded, "sparseAllreduce/sharded, bf16");
const Mode kShardedInt8 = over_int8(kSharded, "sparseAllreduce/sharded, int8");

std::string sweep_some(const Ranks& ranks, const Mode& mode, std::uint64_t thinning) {
  for (const Case& c : cases_of(mode, ranks.size(), thinning * (small_run() ? 5 : 1))) {
    const std::string verdict = run_case(ranks, c);
    if (!verdict.empty()) return verdict;
  }
  return "";
}

TEST_CASE(
    "Sharded is its definition: one rank on each node, several, fewer on the last, one node") {
  for (const int size : {1, 2, 3, 4, 16}) {
    const Variable nodes(kVariable, std::to_string(size));
    for (const int P : rank_counts()) {
      for (const Mode& mode : {kSharded, kShardedBf16, kShardedInt8}) {
        INFO(size << " ranks per node, " << mode.name);
        const Ranks ranks(P, config_of(mode));
        CHECK(sweep_some(ranks, mode, 5) == "");
      }
    }
  }
}

TEST_CASE("Sharded on nodes of 1 + 3, 2 + 2 + 1 and 3 + 1 + 2 ranks, in any order of ranks") {
  const Variable nodes(kVariable, "3");
  const Ranks whole(9, config_of(kSharded));
  // The ranks of the parent are on nodes 0 0 0 1 1 1 2 2 2.
  const std::vector<std::vector<int>> placements{
      {0, 3, 4, 5}, {0, 1, 3, 4, 6}, {0, 1, 2, 3, 6, 7}, {0, 3, 6, 1, 4, 7}, {8, 0, 5, 1, 7, 2}};
  for (const std::vector<int>& members : placements) {
    const auto place = [&](int rank) {
      return static_cast<int>(std::find(members.begin(), members.end(), rank) - members.begin());
    };
    const Part part = split(
        whole, 3, [&](int rank) { return place(rank) < static_cast<int>(members.size()); }, place);
    Mode mode = kSharded;
    mode.nodes = &part.nodes;
    const Ranks ranks(part.comms);
    INFO(members.size() << " ranks, the first is " << members[0]);
    CHECK(sweep_some(ranks, mode, 3) == "");
  }
}

TEST_CASE("50 calls of Sharded in a row equal the oracle's, whatever is kept between them") {
  const Variable nodes(kVariable, "2");
  for (const int P : {2, 3, 4, 8}) {
    for (const Mode& mode : {kSharded, kShardedBf16, kShardedInt8}) {
      sparsecollConfig_t config = config_of(mode);
      if (mode.wire == sparsecollWireNative) config.repartitionInterval = 2;
      const Ranks ranks(P, config);
      std::uint64_t number = 0;
      for (const Kind kind : {Kind::kHeavyTail, Kind::kOneRegion, Kind::kHotBlock, Kind::kNotFinite,
                              Kind::kIntegers}) {
        const Case c{base_seed(),
                     mode,
                     1000,
                     25,
                     kind,
                     oracle::Op::kAvg,
                     some_type(number++),
                     true,
                     false,
                     small_run() ? 6 : 50};
        CHECK(run_case(ranks, c) == "");
      }
    }
  }
}

sparsecollStats_t stats_of(const Ranks& ranks, int rank) {
  sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
  REQUIRE(sparsecollCommGetStats(ranks.comm(rank), sparsecollStatsLast, &stats) ==
          sparsecollSuccess);
  return stats;
}

TEST_CASE("ranks without a shard send their node dense shards only; owners send between nodes") {
  const Variable nodes(kVariable, "3");
  const Ranks ranks(5, config_of(kSharded));  // nodes of 3 and 2 ranks
  CHECK(run_case(ranks, Case{1, kSharded, 5000, 100, Kind::kHeavyTail, oracle::Op::kSum,
                             sparsecollFloat32, false, false, 2}) == "");
  for (int rank = 0; rank < ranks.size(); ++rank)
    CHECK(stats_of(ranks, rank).algorithm == sparsecollAlgoSharded);
  CHECK(stats_of(ranks, 2).messagesSent == 2);
  CHECK(stats_of(ranks, 2).selected == 0);
  CHECK(stats_of(ranks, 2).result == 100);
  CHECK(stats_of(ranks, 0).selected == 50);
}

// 64 KiB and more of a shard are read in the memory of the other ranks, 2^15 values at a time.
template <class T>
std::string sum_long_shards(const Ranks& ranks, Kind kind, bool feedback) {
  return run_case(ranks, Case{1, kSharded, 150001, 2000, kind, oracle::Op::kSum, kDatatype<T>,
                              feedback, false, 2});
}

TEST_CASE("Sharded is its definition for shards that owners read in the memory of others") {
  for (const int size : {2, 3, 4}) {
    const Variable nodes(kVariable, std::to_string(size));
    for (const int P : {2, 4, 5}) {
      INFO(size << " ranks per node, P=" << P);
      const Ranks ranks(P, config_of(kSharded));
      CHECK(sum_long_shards<float>(ranks, Kind::kHeavyTail, true) == "");
      CHECK(sum_long_shards<double>(ranks, Kind::kCancelling, false) == "");
      CHECK(sum_long_shards<oracle::Float16>(ranks, Kind::kHeavyTail, true) == "");
      CHECK(sum_long_shards<float>(ranks, Kind::kNotFinite, true) == "");
    }
  }
}

/// Makes the system refuse process_vm_readv to the calling thread, for good, as a container may.
bool forbid_reading() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(filter), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST_CASE("an owner that may not read the memory of others gets long shards as messages") {
  constexpr std::size_t kLength = 100003;
  const Variable nodes(kVariable, "3");
  const Ranks ranks(5, config_of(kSharded));
  const auto k = kLength / 50;
  const oracle::DenseInputs<float> in{
      make_data_of_all<float>(Kind::kHeavyTail, kLength, ranks.size(), base_seed()), {}};
  const auto want = oracle::ShardedOracle<float>::sparse_allreduce(
      in, sharded_call(kSharded, k, oracle::Op::kSum, static_cast<std::size_t>(ranks.size())));
  std::atomic<int> forbidden{0};
  CHECK(ranks.run("forbidden", [&](int rank) {
    if (rank % 2 == 0 && forbid_reading()) ++forbidden;
    std::vector<float> recv(kLength);
    const sparsecollResult_t result = settle(
        sparseAllreduce(in.sends[static_cast<std::size_t>(rank)].data(), recv.data(), kLength, k,
                        sparsecollFloat32, sparsecollSum, nullptr, ranks.comm(rank), nullptr),
        ranks.comm(rank));
    std::string text = expect("the verb", result, sparsecollSuccess, ranks.comm(rank));
    if (text.empty()) text = difference("recv", recv, want.result);
    return text;
  }) == "");
  CHECK(forbidden == 3);
  // Rank 2 owns no shard. The others of its node send to rank 0; rank 3 sends to nobody.
  CHECK(stats_of(ranks, 0).bytesSent < kLength);
  CHECK(stats_of(ranks, 1).bytesSent > 2 * kLength);
}

// --- reduce-scatter

template <class T>
std::string reduce_scatter(const Ranks& ranks, const Mode& mode, Kind kind,
                           const std::vector<std::size_t>& bounds, bool null) {
  const std::size_t n = bounds.back(), P = static_cast<std::size_t>(ranks.size());
  const std::size_t k = n / 3 + 1;
  oracle::DenseInputs<T> in{
      {}, oracle::PerRank<std::vector<oracle::Wide<T>>>(P, std::vector<oracle::Wide<T>>(n, 0))};
  auto residuals = make_residuals<T>(ranks.comms(), n, true);
  for (unsigned call = 0; call < 3; ++call) {
    in.sends = make_data_of_all<T>(kind, n, ranks.size(), base_seed() + call);
    const auto want = oracle::ShardedOracle<T>::reduce_scatter(
        in, sharded_call(mode, k, oracle::Op::kAvg, P), {bounds.begin(), bounds.end()});
    const std::string verdict = ranks.run("reduce-scatter", [&](int rank) {
      const auto r = static_cast<std::size_t>(rank);
      SparseBuffer<T> output(n + 1, sparsecollIndex32, n);
      const sparsecollResult_t result =
          settle(sparseReduceScatter(in.sends[r].data(), output.get(), n, k, kDatatype<T>,
                                     sparsecollAvg, null ? nullptr : bounds.data(),
                                     residuals[r].handle(), ranks.comm(rank), nullptr),
                 ranks.comm(rank));
      std::string text = expect("the verb", result, sparsecollSuccess, ranks.comm(rank));
      if (text.empty()) text = difference("recv", output.entries(), want.result[r]);
      if (text.empty()) text = difference("residual", residuals[r].read(), want.residuals[r]);
      return text;
    });
    if (!verdict.empty()) return std::string(name_of(kind)) + ": " + verdict;
    in.residuals = want.residuals;
  }
  return "";
}

TEST_CASE("sparseReduceScatter by Sharded returns the sums of nodes to the owners of shards") {
  for (const int size : {1, 2, 3, 8}) {
    const Variable nodes(kVariable, std::to_string(size));
    for (const int P : {1, 2, 3, 4, 5, 8}) {
      for (const Mode& mode : {kSharded, kShardedBf16, kShardedInt8}) {
        const Ranks ranks(P, config_of(mode));
        const auto ranks_on = nodes_of(mode, static_cast<std::size_t>(P));
        INFO(size << " ranks per node, P=" << P);
        for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{301}}) {
          const auto bounds = bounds_on_first_node(n, static_cast<std::size_t>(P), ranks_on);
          CHECK(reduce_scatter<float>(ranks, mode, Kind::kHeavyTail, bounds, false) == "");
          CHECK(reduce_scatter<double>(ranks, mode, Kind::kCancelling, bounds, false) == "");
          CHECK(reduce_scatter<oracle::Float16>(ranks, mode, Kind::kNotFinite, bounds, false) ==
                "");
        }
      }
    }
  }
}

TEST_CASE("bounds NULL agree with the shards where ranks go round the nodes") {
  const Variable nodes(kVariable, "2");
  const Ranks whole(4, config_of(kSharded));
  const Part part = split(
      whole, 2, [](int) { return true; }, [](int rank) { return rank % 2; });
  CHECK(part.nodes == std::vector<int>{0, 1, 0, 1});
  Mode mode = kSharded;
  mode.nodes = &part.nodes;
  const Ranks ranks(part.comms);
  CHECK(reduce_scatter<float>(ranks, mode, Kind::kHeavyTail, {0, 25, 50, 75, 100}, true) == "");
}

// --- Auto

int algorithm_of(int allow, int per_node, std::size_t n, std::size_t k) {
  const Variable nodes(kVariable, std::to_string(per_node));
  sparsecollConfig_t config = default_config();
  config.allowSharded = allow;
  const Ranks ranks(4, config);
  std::vector<float> zeros(n, 0);
  const std::string verdict = ranks.run("auto", [&](int rank) {
    std::vector<float> recv(n);
    return expect("the verb",
                  settle(sparseAllreduce(zeros.data(), recv.data(), n, k, sparsecollFloat32,
                                         sparsecollSum, nullptr, ranks.comm(rank), nullptr),
                         ranks.comm(rank)),
                  sparsecollSuccess, ranks.comm(rank));
  });
  CHECK(verdict == "");
  return stats_of(ranks, 0).algorithm;
}

TEST_CASE("Auto takes Sharded only where it may, and decides by count and nodes, not by k") {
  constexpr std::size_t kLong = std::size_t{1} << 20;
  CHECK(algorithm_of(0, 2, kLong, kLong / 100) != sparsecollAlgoSharded);
  for (const std::size_t k : {std::size_t{0}, std::size_t{5}, kLong / 100, kLong})
    CHECK(algorithm_of(1, 2, kLong, k) == sparsecollAlgoSharded);
  CHECK(algorithm_of(1, 1, kLong, kLong / 100) != sparsecollAlgoSharded);  // no node is shared
  CHECK(algorithm_of(1, 4, kLong, kLong / 100) != sparsecollAlgoSharded);  // there is one node
  CHECK(algorithm_of(1, 2, 10, 5) != sparsecollAlgoSharded);               // the latency decides
}

TEST_CASE("with Auto, residuals are made for what Auto takes") {
  const Variable nodes(kVariable, "2");
  sparsecollConfig_t config = default_config();
  config.allowSharded = 1;
  const Ranks ranks(4, config);
  for (const std::size_t n : {std::size_t{10}, std::size_t{1} << 20}) {
    const Mode mode = n == 10 ? kAuto : kSharded;
    CHECK(run_case(ranks, Case{3, mode, n, n / 10, Kind::kIntegers, oracle::Op::kSum,
                               sparsecollFloat32, true, false, 3}) == "");
  }
}

}  // namespace
}  // namespace sparsecoll::test
