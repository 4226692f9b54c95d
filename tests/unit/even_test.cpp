// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// How often ranks exchange in one call of an algorithm: all of them as often, whatever they have to
// send (Call::exchange), so that members of a group can share their exchanges.

#include "collectives/regions.hpp"
#include "collectives/registry.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "unit/station.hpp"

namespace sparsecoll::unit {
namespace {

/// Counts the exchanges of a call until it is said to be uneven.
class CountingCall final : public Call {
 public:
  CountingCall(Call& below, bool in_stream_order) : below_(below), ordered_(in_stream_order) {}

  int rank() const override { return below_.rank(); }
  int size() const override { return below_.size(); }
  bool in_stream_order() const override { return ordered_; }
  void learn_of(std::span<const int> ranks) override { below_.learn_of(ranks); }
  void uneven() override { even_ = false; }
  void exchange_each(std::span<Leg> legs, FunctionRef<void(size_t leg)> on_message) override {
    if (even_) ++exchanges_;
    below_.exchange_each(legs, on_message);
  }

  size_t exchanges() const { return exchanges_; }
  bool even() const { return even_; }

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
};

/// Some ranks have nothing; where `crowded`, all entries are in one rank's region.
SparseSpan local_of(Env& env, const Case& each, uint64_t call, bool crowded) {
  const int rank = env.call.rank();
  std::vector<float> values(kCount, 0.0f);
  if (rank % 4 != 2)
    for (uint64_t i = 0; i < kCount / (crowded ? 16 : 1); ++i)
      values[i] =
          static_cast<float>(test::noise(call, i, static_cast<uint64_t>(rank)) % 1999) - 999.0f;
  const SparseBuffer selected = env.kernels.sparse(std::min<size_t>(each.k, kCount));
  env.kernels.accumulate_select({values.data(), kCount, {}}, std::min<size_t>(each.k, kCount),
                                selected);
  return selected.span();
}

/// Several calls, the later ones with what the first have learnt. How many exchanges each took.
std::vector<size_t> exchanges_of(Station& station, const Case& each, bool in_stream_order) {
  std::vector<size_t> counts;
  Warm warm;
  for (uint64_t call = 0; call < 6; ++call)
    station.collective([&](Env& below) {
      CountingCall counted(below.call, in_stream_order);
      Env env{counted, below.kernels, below.arena, below.stats, below.fault};
      Problem problem{kCount, each.k, local_of(env, each, call, call > 2), 4, 3};
      problem.regions = uniform_regions(env, kCount);
      each.run(env, problem, warm);
      if (!counted.even()) throw std::runtime_error("it is uneven");
      counts.push_back(counted.exchanges());
    });
  return counts;
}

Outcome alltoall_alone(Env& env, const Problem& problem, Warm&) {
  alltoall(env, problem.local, problem.regions);
  return {};
}

TEST_CASE("all ranks exchange as often in a call") {
  const Case cases[] = {{"gtopk", gtopk, 20},
                        {"gtopk, all", gtopk, kAll},
                        {"allgather", allgather_topk, 20},
                        {"oktopk", oktopk, 20},
                        {"oktopk, all", oktopk, kAll},
                        {"oktopk, reusing", oktopk_reuse, 20},
                        {"reduce-scatter", reduce_scatter, 20},
                        {"all-to-all", alltoall_alone, 20}};
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
