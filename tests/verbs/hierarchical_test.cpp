// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests Hierarchical with nodes of any size whose ranks are in any order: it sums within each node
// first, then over the nodes. The tests are a program of their own, because the environment belongs
// to the process.

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/folder.hpp"
#include "support/placement.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"
#include "support/variable.hpp"

namespace sparsecoll::test {
namespace {

constexpr const char* kVariable = "SPARSECOLL_RANKS_PER_NODE";

/// Keeps one in kThinning cases, because each case is run for several sizes of nodes.
constexpr std::uint64_t kThinning = 5;

std::string sweep_both(const Ranks& ranks, const Mode& mode) {
  const std::uint64_t thinning = kThinning * (small_run() ? 5 : 1);
  for (const Case& c : cases_of(mode, ranks.size(), thinning)) {
    const std::string verdict = run_case(ranks, c);
    if (!verdict.empty()) return verdict;
  }
  for (const SparseCase& c : sparse_cases_of(mode, ranks.size(), thinning)) {
    const std::string verdict = run_case(ranks, c);
    if (!verdict.empty()) return verdict;
  }
  return "";
}

TEST_CASE("sums are by node: one rank on each, several, another number on the last, all on one") {
  for (const int size : {1, 2, 3, 5, 16}) {
    const Variable nodes(kVariable, std::to_string(size));
    for (const int P : rank_counts()) {
      INFO(size << " ranks per node");
      const Ranks ranks(P, config_of(kHierarchical));
      CHECK(sweep_both(ranks, kHierarchical) == "");
    }
  }
}

TEST_CASE("ranks of a node need not follow each other, nor nodes have as many") {
  const Variable nodes(kVariable, "3");
  for (const int P : {3, 4, 6, 8, 9, 16}) {
    const Ranks whole(P, config_of(kHierarchical));
    const auto all = [](int) { return true; };
    const Part dealt = split(whole, 3, all, [](int rank) { return rank % 3; });
    const Part backwards = split(whole, 3, all, [](int rank) { return -rank; });
    const Part some = split(
        whole, 3, [](int rank) { return rank % 5 != 1; }, [](int rank) { return rank * 7 % 11; });
    for (const Part* part : {&dealt, &backwards, &some}) {
      Mode mode = kHierarchical;
      mode.nodes = &part->nodes;
      const Ranks ranks(part->comms);
      INFO("P=" << P << ", " << ranks.size() << " of them");
      CHECK(sweep_both(ranks, mode) == "");
    }
  }
}

TEST_CASE("what is remembered from call to call is the same on all ranks of a node") {
  const Variable nodes(kVariable, "2");
  for (const int P : {2, 3, 7}) {
    sparsecollConfig_t config = config_of(kHierarchical);
    config.repartitionInterval = 2;
    const Ranks ranks(P, config);
    for (const Kind kind : {Kind::kHeavyTail, Kind::kOneRegion, Kind::kHotBlock}) {
      const Case c{base_seed(),      kHierarchical,     1000, 25,    kind,
                   oracle::Op::kAvg, sparsecollFloat16, true, false, small_run() ? 6 : 50};
      CHECK(run_case(ranks, c) == "");
    }
  }
}

sparsecollStats_t stats_of(const Ranks& ranks, int rank, int which) {
  sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
  REQUIRE(sparsecollCommGetStats(ranks.comm(rank), which, &stats) == sparsecollSuccess);
  return stats;
}

TEST_CASE("only leaders send to other nodes") {
  const Variable nodes(kVariable, "4");
  const Ranks ranks(8, config_of(kHierarchical));
  // In the second call of a shape, the topology and the regions are known.
  CHECK(run_case(ranks, Case{1, kHierarchical, 5000, 100, Kind::kHeavyTail, oracle::Op::kSum,
                             sparsecollFloat32, false, false, 2}) == "");
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const sparsecollStats_t stats = stats_of(ranks, rank, sparsecollStatsLast);
    CHECK(stats.algorithm == sparsecollAlgoHierarchical);
    // In a node of four, the leader has two children in the tree, and the third rank has one. Each
    // child gets two messages.
    const std::size_t in_node[] = {4, 1, 3, 1};
    if (rank % 4 != 0) CHECK(stats.messagesSent == in_node[rank % 4]);
    if (rank % 4 == 0) CHECK(stats.messagesSent > in_node[0]);
  }
}

/// Returns the algorithm that Auto takes in calls of one shape.
int algorithm_of_auto(int allow_reordered, const Folder& folder) {
  const Variable debug("SPARSECOLL_DEBUG", "INFO");
  const Variable file("SPARSECOLL_DEBUG_FILE", folder.file("log"));
  sparsecollConfig_t config = default_config();
  config.allowReordered = allow_reordered;
  const Ranks ranks(4, config);
  // Sums of integers have the definition's bits in any order.
  CHECK(run_case(ranks, Case{1, kAuto, 400, 10, Kind::kIntegers, oracle::Op::kSum,
                             sparsecollFloat32, false, false, 3}) == "");
  return stats_of(ranks, 0, sparsecollStatsLast).algorithm;
}

TEST_CASE("Auto looks at nodes where sums may round in another order, and only there") {
  const Variable nodes(kVariable, "2");
  const Folder without, with;
  CHECK(algorithm_of_auto(0, without) != sparsecollAlgoHierarchical);
  CHECK(lines_with(without.file("log"), "nodes: ") == 0);
  CHECK(lines_with(without.file("log"), ", hierarchical ") == 0);
  algorithm_of_auto(1, with);
  CHECK(lines_with(with.file("log"), "nodes: 2, with 2 ranks at most") == 4);
  CHECK(lines_with(with.file("log"), "network: within nodes alpha ") == 4);
  // Each rank tells each choice, and those of the trials are the same on all.
  const int told = lines_with(with.file("log"), ", hierarchical ");
  CHECK(told > 0);
  CHECK(told % 4 == 0);
}

TEST_CASE("in a group of Auto's calls nodes are not measured, and one rank a node has none") {
  const Variable nodes(kVariable, "1");
  const Folder folder;
  CHECK(algorithm_of_auto(1, folder) != sparsecollAlgoHierarchical);
  CHECK(lines_with(folder.file("log"), "network: within nodes") == 0);
}

TEST_CASE("SPARSECOLL_RANKS_PER_NODE takes numbers from 1 on") {
  for (const char* value : {"0", "-1", "many", "2 "}) {
    const Variable nodes(kVariable, value);
    sparsecollComm_t comms[2] = {};
    CHECK(sparsecollCommInitAll(comms, 2, nullptr, nullptr) == sparsecollInvalidArgument);
    CHECK(std::string(sparsecollGetLastError(nullptr)).find(kVariable) != std::string::npos);
  }
}

TEST_CASE("reused thresholds are not for Hierarchical") {
  sparsecollConfig_t config = config_of(kHierarchical);
  config.selection = sparsecollSelectReuse;
  sparsecollComm_t comms[2] = {};
  CHECK(sparsecollCommInitAll(comms, 2, nullptr, &config) == sparsecollInvalidArgument);
  const std::string message = sparsecollGetLastError(nullptr);
  CHECK(message.find("hierarchical") != std::string::npos);
}

}  // namespace
}  // namespace sparsecoll::test
