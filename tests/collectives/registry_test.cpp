// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of the registry of algorithms and of the cost model by which Auto chooses.

#include "collectives/registry.hpp"

#include <map>
#include <set>
#include <string>

#include "calls/channel_ranks.hpp"
#include "sparsecoll/sparsecoll.h"
#include "support/catch.hpp"

namespace sparsecoll::unit {
namespace {

TEST_CASE("every algorithm but Auto has its functions, by its number") {
  std::set<std::string> names;
  size_t found = 0;
  for (const AlgorithmInfo& each : kAlgorithms) {
    CHECK(names.insert(each.name).second);
    CHECK(algorithm_info(static_cast<int>(each.id)) == &each);
    const Algorithm* const algorithm = find_algorithm(static_cast<int>(each.id));
    CHECK((algorithm == nullptr) == (each.id == AlgorithmId::automatic));
    if (!algorithm) continue;
    CHECK(algorithm == algorithms()[found++]);
    CHECK(algorithm->id == each.id);
    CHECK(algorithm->seconds != not_predicted);
    // Auto gives the definition, but for sums by node where the user allows them.
    const bool may_suit =
        each.result == ResultKind::definition || each.result == ResultKind::sums_by_node;
    CHECK((may_suit || algorithm->suits == never_suits));
  }
  for (const Algorithm* const each : algorithms())
    CHECK((each->suits == never_suits || each->seconds != not_predicted));
  const int unknown = static_cast<int>(std::size(kAlgorithms));
  for (const int id : {-1, unknown, 1000}) {
    CHECK(find_algorithm(id) == nullptr);
    CHECK(algorithm_info(id) == nullptr);
  }
  CHECK(oktopk_with_reused_thresholds().id == AlgorithmId::oktopk);
  CHECK(oktopk_with_reused_thresholds().run != find_algorithm(sparsecollAlgoOktopk)->run);
}

constexpr uint64_t kCount = 1 << 24;

double seconds(AlgorithmId id, const ProblemSize& size) {
  return predicted_seconds(id, size, kCommodity);
}
const Algorithm& choice(const ProblemSize& size) { return choose_algorithm(size, kCommodity); }

ProblemSize with_k(int ranks, size_t k) { return {ranks, kCount, k, 4, 0}; }
ProblemSize with_entries(int ranks, uint64_t entries) { return {ranks, kCount, kAll, 4, entries}; }

TEST_CASE("predicted times increase with k, ranks, count, entries and the size of a value") {
  for (const AlgorithmId id :
       {AlgorithmId::allgather, AlgorithmId::oktopk, AlgorithmId::topka2a, AlgorithmId::dense}) {
    CHECK(seconds(id, with_k(1, 1000)) == 0);
    for (const int ranks : {2, 3, 4, 8, 100}) {
      double before = 0;
      for (const size_t k : {0, 1, 100, 10000, 1000000}) {
        const double now = seconds(id, with_k(ranks, k));
        CHECK(now > 0);
        CHECK(now >= before);
        before = now;
        CHECK(seconds(id, with_k(ranks + 1, k)) >= now);
        ProblemSize wide = with_k(ranks, k);
        wide.value_size = 8;
        CHECK(seconds(id, wide) >= now);
      }
      // A k above count is the same as count.
      CHECK(seconds(id, with_k(ranks, kCount)) == seconds(id, with_k(ranks, 5 * kCount)));
    }
    ProblemSize longer = with_k(8, kCount * 4);
    longer.count *= 2;
    CHECK(seconds(id, longer) > seconds(id, with_k(8, kCount * 4)));
  }
  for (const AlgorithmId id : {AlgorithmId::allgather, AlgorithmId::oktopk})
    CHECK(seconds(id, with_entries(8, 1000000)) > seconds(id, with_entries(8, 1000)));
}

TEST_CASE(
    "Auto chooses the cheaper algorithm: Allgather for few entries, Oktopk for many, with one "
    "crossover") {
  for (const int ranks : {2, 3, 4, 8, 16, 64, 256}) {
    std::vector<AlgorithmId> chosen;
    for (size_t k = 1; k <= kCount; k *= 2) {
      const ProblemSize size = with_k(ranks, k);
      chosen.push_back(choice(size).id);
      const double allgather = seconds(AlgorithmId::allgather, size);
      const double oktopk = seconds(AlgorithmId::oktopk, size);
      CHECK(chosen.back() == (allgather <= oktopk ? AlgorithmId::allgather : AlgorithmId::oktopk));
    }
    INFO(ranks << " ranks");
    CHECK(chosen.front() == AlgorithmId::allgather);
    CHECK(chosen.back() == AlgorithmId::oktopk);
    int crossovers = 0;
    for (size_t i = 1; i < chosen.size(); ++i) crossovers += chosen[i] != chosen[i - 1];
    CHECK(crossovers == 1);
  }
}

TEST_CASE(
    "Auto never chooses an algorithm with another result, and uses the entries of earlier calls "
    "for exact sums") {
  std::set<AlgorithmId> chosen;
  for (const int ranks : {1, 2, 5, 1000})
    for (const size_t k : {size_t{0}, size_t{1}, size_t{1} << 20, size_t{kCount}, kAll})
      for (const uint64_t entries : {uint64_t{0}, uint64_t{10}, uint64_t{1} << 30})
        chosen.insert(choice({ranks, kCount, k, 8, entries}).id);
  CHECK(chosen == std::set<AlgorithmId>{AlgorithmId::allgather, AlgorithmId::oktopk});
  CHECK(choice(with_entries(16, 0)).id == AlgorithmId::oktopk);  // no earlier call
  CHECK(choice(with_entries(16, 160)).id == AlgorithmId::allgather);
  // So many entries must share indices, which favours Oktopk.
  CHECK(choice(with_entries(16, 10 * kCount)).id == AlgorithmId::oktopk);
  // Equal numbers of entries; in the first case most share an index, in the second none do.
  ProblemSize some = with_entries(16, 16000);
  some.result = 1000;
  CHECK(choice(some).id == AlgorithmId::oktopk);
  some.result = 16000;
  CHECK(choice(some).id == AlgorithmId::allgather);
  CHECK(seconds(AlgorithmId::oktopk, some) ==
        seconds(AlgorithmId::oktopk, with_entries(16, 16000)));
}

TEST_CASE(
    "Auto chooses Dense if the input is a complete dense vector and earlier calls had many "
    "entries") {
  for (const int ranks : {2, 3, 8, 64}) {
    ProblemSize size = with_k(ranks, kCount);
    const AlgorithmId sparse = choice(size).id;
    size.entries = ranks * kCount;
    CHECK(choice(size).id == sparse);
    size.selects_all = true;
    CHECK(choice(size).id == AlgorithmId::dense);
    size.entries = ranks * kCount / 10;
    CHECK(choice(size).id != AlgorithmId::dense);
    // The cost follows from the entries of earlier calls and not from k.
    CHECK(seconds(AlgorithmId::oktopk, size) < seconds(AlgorithmId::oktopk, with_k(ranks, kCount)));
    size.entries = 0;
    CHECK(choice(size).id == sparse);
  }
}

TEST_CASE("the choice of Auto depends on the network") {
  const ProblemSize size = with_k(8, 2000);
  CHECK(choose_algorithm(size, {1e-3, 1e-9, kGammaOnHost}).id == AlgorithmId::allgather);
  CHECK(choose_algorithm(size, {1e-6, 1e-7, kGammaOnHost}).id == AlgorithmId::oktopk);
  // With two ranks both algorithms send the same amount, but in Allgather both ranks add all
  // entries.
  const ProblemSize pair = with_k(2, 100000);
  CHECK(choose_algorithm(pair, {1e-6, 1e-10, 0}).id == AlgorithmId::allgather);
  CHECK(choose_algorithm(pair, {1e-6, 1e-10, kGammaOnHost}).id == AlgorithmId::oktopk);
}

TEST_CASE("the cost of additions counts received entries") {
  const Network adding{0, 0, 1};
  const NodeNetwork nodes{4, 3, adding, adding};
  const auto entries = [&](AlgorithmId id, int ranks, size_t k) {
    return predicted_seconds(id, {ranks, 4000, k, 4, 0, 0, &nodes}, adding);
  };
  // Allgather adds the entries of all others. The others add the entries of the own region, and
  // half the cost counts for each entry of the sum.
  CHECK(entries(AlgorithmId::allgather, 5, 100) == Approx(4 * 100));
  CHECK(entries(AlgorithmId::oktopk, 5, 100) == Approx(0.8 * 150));
  CHECK(entries(AlgorithmId::topka2a, 5, 100) == Approx(0.8 * (100 + 500 / 2)));
  CHECK(entries(AlgorithmId::topka2a, 5, 1000) == Approx(0.8 * (1000 + 4000 / 2)));
  CHECK(entries(AlgorithmId::dense, 5, 100) == Approx(0.8 * 2 * 4000 / 16));
  // Hierarchical adds within the node of three ranks, between four leaders, and in a broadcast tree
  // of two levels.
  CHECK(entries(AlgorithmId::hierarchical, 12, 100) ==
        Approx(2 * 100 + 0.75 * (300 + 100 / 2) + 2 * 100 / 2));
  CHECK(entries(AlgorithmId::hierarchical, 12, 2000) ==
        Approx(2 * 2000 + 0.75 * (4000 + 2000 / 2) + 2 * 2000 / 2));
}

/// Measures the network on all ranks with delayed messages. With `far_only`, messages to the next
/// rank are not delayed.
std::string measure(int P, std::chrono::microseconds delay, std::vector<Network>& networks,
                    bool far_only = false) {
  networks.assign(static_cast<size_t>(P), {});
  const auto late = [=](int sender, int receiver, size_t) {
    MessageFault fault;
    if (!far_only || receiver != (sender + 1) % P) fault.delay = delay;
    return fault;
  };
  ChannelRanks ranks(P, 30000, delay.count() > 0 ? FaultPlan(late) : FaultPlan());
  return ranks.run([&](ChannelRank& self) {
    self.collective([&](Env& env) {
      networks[static_cast<size_t>(self.rank())] = measure_network(env).value();
    });
    return "";
  });
}

TEST_CASE("all ranks get the same result, which includes the delay of messages") {
  for (const int P : {2, 3, 4, 7}) {
    CAPTURE(P);
    std::vector<Network> networks;
    REQUIRE(measure(P, std::chrono::microseconds(0), networks) == "");
    for (const Network& each : networks) {
      CHECK(each.alpha == networks[0].alpha);
      CHECK(each.beta == networks[0].beta);
      CHECK(each.alpha > 0);
      CHECK(each.beta > 0);
    }
    REQUIRE(measure(P, std::chrono::microseconds(5000), networks) == "");
    for (const Network& each : networks) CHECK(each.alpha >= 0.005);
  }
}

TEST_CASE("if peers have different delays, the longest is measured") {
  for (const int P : {4, 5, 8}) {
    CAPTURE(P);
    std::vector<Network> networks;
    REQUIRE(measure(P, std::chrono::microseconds(20000), networks, true) == "");
    for (const Network& each : networks) CHECK(each.alpha >= 0.02);
  }
}

}  // namespace
}  // namespace sparsecoll::unit
