// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// All ranks make the same number of exchanges in a call, even if they have nothing to send
// (Call::exchange). Verbs of a group rely on this to share their exchanges.

#include "calls/channel_ranks.hpp"
#include "collectives/alltoall.hpp"
#include "collectives/building_blocks/regions.hpp"
#include "collectives/building_blocks/selection.hpp"
#include "collectives/registry.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"

namespace sparsecoll::unit {
namespace {

/// A call that counts its exchanges, until the algorithm allows uneven ones.
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
  RunFunction run;
  size_t k;
  Selection selection = kSelectTopk;
};

/// Fills in what a rank contributes. Some ranks have nothing. If `overloaded`, all entries are in
/// one rank's region.
void fill(Env& env, const Case& each, uint64_t call, bool overloaded, Problem& problem) {
  const int rank = env.call.rank();
  const auto values = env.arena.take_span<float>(kCount);
  if (rank % 4 != 2)
    for (uint64_t i = 0; i < kCount / (overloaded ? 16 : 1); ++i)
      values[i] =
          static_cast<float>(test::noise(call, i, static_cast<uint64_t>(rank)) % 1999) - 999.0f;
  problem.k = std::min<size_t>(each.k, kCount);
  ShapeCache none;
  each.selection.select(env, {values.data(), kCount, {}}, problem, none);
  problem.k = each.k;
}

/// Makes several calls, which use the cache of earlier ones. Returns the number of exchanges of
/// each.
std::vector<size_t> exchanges_of(ChannelRank& self, const Case& each, bool in_stream_order) {
  std::vector<size_t> counts;
  ShapeCache cache;
  for (uint64_t call = 0; call < 6; ++call)
    self.collective([&](Env& below) {
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

std::vector<Case> even_cases() {
  const auto run_of = [](AlgorithmId id) { return find_algorithm(static_cast<int>(id))->run; };
  std::vector<Case> cases{{"gtopk", gtopk().run, 20},
                          {"gtopk, all", gtopk().run, kAll},
                          {"oktopk, all", run_of(AlgorithmId::oktopk), kAll},
                          {"allgather, all", run_of(AlgorithmId::allgather), kAll},
                          {"reduce-scatter", reduce_scatter().run, 20},
                          {"all-to-all", alltoall_alone, 20}};
  for (const Algorithm* const each : algorithms()) {
    const AlgorithmInfo& info = *algorithm_info(static_cast<int>(each->id));
    if (!info.uneven) cases.push_back({info.name, each->run, 20, each->selection});
  }
  return cases;
}

TEST_CASE("all ranks make the same number of exchanges in a call") {
  const std::vector<Case> cases = even_cases();
  for (const int P : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 23})
    for (const bool in_stream_order : {false, true})
      for (const Case& each : cases) {
        CAPTURE(P, in_stream_order, each.name);
        ChannelRanks ranks(P);
        std::vector<std::vector<size_t>> counts(static_cast<size_t>(P));
        CHECK(ranks.run([&](ChannelRank& self) {
          counts[static_cast<size_t>(self.rank())] = exchanges_of(self, each, in_stream_order);
          return std::string();
        }) == "");
        for (const auto& of_rank : counts) CHECK(of_rank == counts[0]);
        CHECK((counts[0][0] > 0 || P == 1));
      }
}

}  // namespace
}  // namespace sparsecoll::unit
