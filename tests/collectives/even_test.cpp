// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// How often ranks exchange in one call of an algorithm: all of them as often, whatever they have to
// send (Call::exchange), so that members of a group can share their exchanges.

#include "calls/station.hpp"
#include "collectives/regions.hpp"
#include "collectives/registry.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"

namespace sparsecoll::unit {
namespace {

/// Counts the exchanges of a call until it is said to be uneven.
class CountingCall final : public Call {
 public:
  CountingCall(Call& below, bool in_stream_order) : below_(below), ordered_(in_stream_order) {}

  int rank() const override { return below_.rank(); }
  int size() const override { return below_.size(); }
  bool in_stream_order() const override { return ordered_; }
  void mark_covered(std::span<const int> ranks) override { below_.mark_covered(ranks); }
  void allow_uneven_exchanges() override { even_ = false; }
  void exchange_each(std::span<Transfer> transfers,
                     FunctionRef<void(size_t transfer)> on_message) override {
    if (even_) ++exchanges_;
    below_.exchange_each(transfers, on_message);
  }

  size_t exchanges() const { return exchanges_; }

 private:
  Call& below_;
  bool ordered_;
  bool even_ = true;
  size_t exchanges_ = 0;
};

constexpr uint64_t kCount = 600;

struct Case {
  const char* name;
  Algorithm run;
  size_t k;
  LocalPart local = LocalPart::topk;
};

/// What a rank puts in. Some ranks have nothing; where `crowded`, all entries are in one rank's
/// region.
void fill(Env& env, const Case& each, uint64_t call, bool crowded, Problem& problem) {
  const int rank = env.call.rank();
  std::vector<float> values(kCount, 0.0f);
  if (rank % 4 != 2)
    for (uint64_t i = 0; i < kCount / (crowded ? 16 : 1); ++i)
      values[i] =
          static_cast<float>(test::noise(call, i, static_cast<uint64_t>(rank)) % 1999) - 999.0f;
  const auto selected = [&](uint64_t begin, uint64_t length, size_t k) {
    const SparseBuffer out = env.kernels.sparse(k);
    env.kernels.accumulate_select({&values[begin], length, {}}, k, out);
    return out.span();
  };
  switch (each.local) {
    case LocalPart::topk:
    case LocalPart::above:
      problem.local = selected(0, kCount, std::min<size_t>(each.k, kCount));
      return;
    case LocalPart::shards: {
      const auto shards = topka2a_shards(env, kCount, each.k);
      const auto spans = env.arena.take_span<SparseSpan>(shards.size());
      for (size_t j = 0; j < shards.size(); ++j)
        spans[j] = selected(shards[j].region.begin, shards[j].region.length(), shards[j].k);
      problem.shards = spans;
      return;
    }
    case LocalPart::everything:
    case LocalPart::whole: {
      void* const acc = env.kernels.bytes(kCount * sizeof(float));
      std::memcpy(acc, values.data(), kCount * sizeof(float));
      uint64_t* const all = env.kernels.counts(1);
      env.kernels.set_count(all, kCount);
      problem.local = {nullptr, acc, {kCount, all}};
      if (each.local == LocalPart::whole) problem.entries = kCount;
      return;
    }
  }
}

/// Several calls, the later ones with what the first have learnt. How many exchanges each took.
std::vector<size_t> exchanges_of(Station& station, const Case& each, bool in_stream_order) {
  std::vector<size_t> counts;
  ShapeCache cache;
  for (uint64_t call = 0; call < 6; ++call)
    station.collective([&](Env& below) {
      CountingCall counted(below.call, in_stream_order);
      Env env{counted, below.kernels, below.arena, below.stats, below.fault};
      Problem problem{kCount, each.k, {}, 4, 3};
      fill(env, each, call, call > 2, problem);
      problem.regions = uniform_regions(env, kCount);
      each.run(env, problem, cache);
      counts.push_back(counted.exchanges());
    });
  return counts;
}

Outcome alltoall_alone(Env& env, const Problem& problem, ShapeCache&) {
  alltoall(env, problem.local, problem.regions);
  return {};
}

/// All that there are but for Hierarchical, which says that it is uneven.
std::vector<Case> even_cases() {
  std::vector<Case> cases{{"gtopk", gtopk, 20},
                          {"gtopk, all", gtopk, kAll},
                          {"oktopk, all", oktopk, kAll},
                          {"allgather, all", allgather_topk, kAll},
                          {"reduce-scatter", reduce_scatter, 20},
                          {"all-to-all", alltoall_alone, 20}};
  std::vector<AlgorithmEntry> entries(algorithms().begin(), algorithms().end());
  entries.push_back(reusing_oktopk());
  entries.push_back(dense_of_whole());
  for (const AlgorithmEntry& each : entries)
    if (each.run && each.id != AlgorithmId::hierarchical)
      cases.push_back({each.name, each.run, 20, each.local});
  return cases;
}

TEST_CASE("all ranks exchange as often in a call") {
  const std::vector<Case> cases = even_cases();
  for (const int P : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 23})
    for (const bool in_stream_order : {false, true})
      for (const Case& each : cases) {
        CAPTURE(P, in_stream_order, each.name);
        Stations stations(P);
        std::vector<std::vector<size_t>> counts(static_cast<size_t>(P));
        CHECK(stations.run([&](Station& station) {
          counts[static_cast<size_t>(station.rank())] =
              exchanges_of(station, each, in_stream_order);
          return std::string();
        }) == "");
        for (const auto& of_rank : counts) CHECK(of_rank == counts[0]);
        CHECK((counts[0][0] > 0 || P == 1));
      }
}

}  // namespace
}  // namespace sparsecoll::unit
