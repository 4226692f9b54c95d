// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// The registry of algorithms and the model by which Auto chooses.

#include "collectives/registry.hpp"

#include <map>
#include <set>
#include <string>

#include "sparsecoll/sparsecoll.h"
#include "support/catch.hpp"

namespace sparsecoll::unit {
namespace {

TEST_CASE("the registry knows the algorithms of the C API by number and name") {
  std::map<int, std::string> names;
  for (const AlgorithmEntry& each : algorithms()) {
    names[static_cast<int>(each.id)] = each.name;
    CHECK(find_algorithm(static_cast<int>(each.id)) == &each);
    CHECK((each.run == nullptr) == (each.id == AlgorithmId::automatic));
  }
  CHECK(names == std::map<int, std::string>{{sparsecollAlgoAuto, "auto"},
                                            {sparsecollAlgoAllgather, "allgather"},
                                            {sparsecollAlgoOktopk, "oktopk"},
                                            {sparsecollAlgoTopkA2A, "topka2a"},
                                            {sparsecollAlgoDense, "dense"}});
  for (const int unknown : {-1, 4, 6, 1000}) CHECK(find_algorithm(unknown) == nullptr);
  CHECK(find_algorithm(sparsecollAlgoDense)->local == LocalPart::everything);
  CHECK(find_algorithm(sparsecollAlgoTopkA2A)->local == LocalPart::shards);
  CHECK(find_algorithm(sparsecollAlgoOktopk)->local == LocalPart::topk);
  CHECK(reusing_oktopk().id == AlgorithmId::oktopk);
  CHECK(reusing_oktopk().run != find_algorithm(sparsecollAlgoOktopk)->run);
}

constexpr uint64_t kCount = 1 << 24;

Shape with_k(int ranks, size_t k) { return {ranks, kCount, k, 4, 0}; }
Shape with_entries(int ranks, uint64_t entries) { return {ranks, kCount, kAll, 4, entries}; }

TEST_CASE("the model's times rise with k, ranks, count, entries and the size of a value") {
  for (const AlgorithmId id :
       {AlgorithmId::allgather, AlgorithmId::oktopk, AlgorithmId::topka2a, AlgorithmId::dense}) {
    CHECK(predicted_seconds(id, with_k(1, 1000)) == 0);
    for (const int ranks : {2, 3, 4, 8, 100}) {
      double before = 0;
      for (const size_t k : {0, 1, 100, 10000, 1000000}) {
        const double now = predicted_seconds(id, with_k(ranks, k));
        CHECK(now > 0);
        CHECK(now >= before);
        before = now;
        CHECK(predicted_seconds(id, with_k(ranks + 1, k)) >= now);
        Shape wide = with_k(ranks, k);
        wide.value_size = 8;
        CHECK(predicted_seconds(id, wide) >= now);
      }
      // More than everything is everything.
      CHECK(predicted_seconds(id, with_k(ranks, kCount)) ==
            predicted_seconds(id, with_k(ranks, 5 * kCount)));
    }
    Shape longer = with_k(8, kCount * 4);
    longer.count *= 2;
    CHECK(predicted_seconds(id, longer) > predicted_seconds(id, with_k(8, kCount * 4)));
  }
  for (const AlgorithmId id : {AlgorithmId::allgather, AlgorithmId::oktopk})
    CHECK(predicted_seconds(id, with_entries(8, 1000000)) >
          predicted_seconds(id, with_entries(8, 1000)));
}

TEST_CASE("Auto takes the cheaper one: Allgather for few entries, Oktopk for many, one crossing") {
  for (const int ranks : {2, 3, 4, 8, 16, 64, 256}) {
    std::vector<AlgorithmId> chosen;
    for (size_t k = 1; k <= kCount; k *= 2) {
      const Shape shape = with_k(ranks, k);
      chosen.push_back(choose_algorithm(shape).id);
      const double allgather = predicted_seconds(AlgorithmId::allgather, shape);
      const double oktopk = predicted_seconds(AlgorithmId::oktopk, shape);
      CHECK(chosen.back() == (allgather <= oktopk ? AlgorithmId::allgather : AlgorithmId::oktopk));
    }
    INFO(ranks << " ranks");
    CHECK(chosen.front() == AlgorithmId::allgather);
    // With two ranks both send the same, and Allgather does it at once.
    CHECK(chosen.back() == (ranks == 2 ? AlgorithmId::allgather : AlgorithmId::oktopk));
    int crossings = 0;
    for (size_t i = 1; i < chosen.size(); ++i) crossings += chosen[i] != chosen[i - 1];
    CHECK(crossings == (ranks == 2 ? 0 : 1));
  }
}

TEST_CASE("Auto never takes what gives another result, and judges exact sums by what it saw") {
  std::set<AlgorithmId> chosen;
  for (const int ranks : {1, 2, 5, 1000})
    for (const size_t k : {size_t{0}, size_t{1}, size_t{1} << 20, size_t{kCount}, kAll})
      for (const uint64_t entries : {uint64_t{0}, uint64_t{10}, uint64_t{1} << 30})
        chosen.insert(choose_algorithm({ranks, kCount, k, 8, entries}).id);
  CHECK(chosen == std::set<AlgorithmId>{AlgorithmId::allgather, AlgorithmId::oktopk});
  CHECK(choose_algorithm(with_entries(16, 0)).id == AlgorithmId::oktopk);  // nothing is known
  CHECK(choose_algorithm(with_entries(16, 160)).id == AlgorithmId::allgather);
  // So many that they must overlap, which Oktopk makes use of.
  CHECK(choose_algorithm(with_entries(16, 10 * kCount)).id == AlgorithmId::oktopk);
}

}  // namespace
}  // namespace sparsecoll::unit
