// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests that groups give the results and residuals of separate calls, in fewer messages. Misuse of
// groups is tested in tests/misuse/group_test.cpp.

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/sparse_data.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"
#include "support/variable.hpp"

namespace sparsecoll::test {
namespace {

/// One tensor of a group.
struct Shape {
  Verb verb;
  std::size_t n;
  std::size_t k;
  sparsecollRedOp_t op;
  bool feedback;
};

const std::vector<Shape>& mixed_shapes() {
  static const std::vector<Shape> shapes = {
      {Verb::kSparse, 5000, 40, sparsecollSum, true},
      {Verb::kSparse, 70, 7, sparsecollAvg, true},
      {Verb::kGtopk, 3000, 25, sparsecollSum, true},
      {Verb::kSparse, 0, 5, sparsecollSum, false},
      {Verb::kGtopk, 64, 100, sparsecollAvg, false},
      {Verb::kSparse, 5000, 40, sparsecollSum, true},
      {Verb::kSparse, 1, 0, sparsecollSum, true},
      {Verb::kGtopk, 3000, 25, sparsecollSum, true},
  };
  return shapes;
}

/// Returns these shapes for a mode. gtopkAllreduce does not take a residual of Sharded.
std::vector<Shape> mixed_shapes_of(const Mode& mode) {
  std::vector<Shape> shapes = mixed_shapes();
  if (info_of(mode).result != ResultKind::sharded) return shapes;
  for (Shape& shape : shapes) shape.feedback = shape.feedback && shape.verb != Verb::kGtopk;
  return shapes;
}

/// The memory of one rank for all tensors.
template <class T>
struct Tensors {
  std::vector<std::vector<T>> recv;
  std::vector<Residual<T>> residuals;

  Tensors(const std::vector<Shape>& shapes, sparsecollComm_t comm) {
    for (const Shape& shape : shapes) {
      recv.emplace_back(shape.n);
      residuals.emplace_back(comm, shape.n, shape.feedback);
    }
  }
};

enum class Way { one_by_one, group };

/// Runs several rounds over all tensors. Returns all results.
template <class T>
std::string run_rounds(const Ranks& ranks, const std::vector<Shape>& shapes, Way way,
                       std::vector<std::vector<std::vector<T>>>& out) {
  out.assign(static_cast<std::size_t>(ranks.size()), {});
  return ranks.run("rounds", [&](int rank) {
    const sparsecollComm_t comm = ranks.comm(rank);
    Tensors<T> tensors(shapes, comm);
    for (unsigned round = 0; round < 4; ++round) {
      std::vector<std::vector<T>> sends;
      for (std::size_t t = 0; t < shapes.size(); ++t)
        sends.push_back(make_data<T>(round % 2 ? Kind::kIntegers : Kind::kHeavyTail, shapes[t].n,
                                     rank, ranks.size(), 100 * round + t));
      if (way == Way::group && sparsecollGroupStart(comm)) return explain(sparsecollSuccess, comm);
      for (std::size_t t = 0; t < shapes.size(); ++t) {
        const Shape& s = shapes[t];
        const auto verb = s.verb == Verb::kGtopk ? gtopkAllreduce : sparseAllreduce;
        const sparsecollResult_t result =
            verb(sends[t].data(), tensors.recv[t].data(), s.n, s.k, kDatatype<T>, s.op,
                 tensors.residuals[t].handle(), comm, nullptr);
        if (result != sparsecollSuccess) return explain(result, comm);
      }
      if (way == Way::group) {
        const sparsecollResult_t result = settle(sparsecollGroupEnd(comm), comm);
        if (result != sparsecollSuccess) return explain(result, comm);
      }
      for (std::size_t t = 0; t < shapes.size(); ++t) {
        out[static_cast<std::size_t>(rank)].push_back(tensors.recv[t]);
        if (shapes[t].feedback)
          out[static_cast<std::size_t>(rank)].push_back(tensors.residuals[t].read());
      }
    }
    return std::string();
  });
}

/// All of these, also over a bfloat16 wire, where Auto depends on earlier calls.
std::vector<Mode> modes_of_groups() {
  std::vector<Mode> modes(std::begin(kConservingModes), std::end(kConservingModes));
  modes.push_back(kReuse);
  const std::size_t native = modes.size();
  for (const int wire : kRoundingWires)
    for (std::size_t m = 0; m < native; ++m)
      modes.push_back(over_wire(wire, modes[m], modes[m].name));
  return modes;
}

TEMPLATE_TEST_CASE("a group gives what its calls give one by one", "", float, double) {
  for (const int P : rank_counts()) {
    int number = P;
    for (const Mode& mode : modes_of_groups()) {
      if (small_run() && ++number % 3 != 0) continue;
      INFO(mode.name << " wire " << mode.wire << " P=" << P);
      std::vector<std::vector<std::vector<TestType>>> alone, together;
      const Ranks first(P, config_of(mode)), second(P, config_of(mode));
      CHECK(run_rounds(first, mixed_shapes_of(mode), Way::one_by_one, alone) == "");
      CHECK(run_rounds(second, mixed_shapes_of(mode), Way::group, together) == "");
      std::string verdict;
      for (std::size_t r = 0; r < alone.size() && verdict.empty(); ++r)
        for (std::size_t v = 0; v < alone[r].size() && verdict.empty(); ++v)
          verdict = difference("rank " + std::to_string(r) + " vector " + std::to_string(v),
                               together[r][v], alone[r][v]);
      CHECK(verdict == "");
    }
  }
}

TEST_CASE("calls of a group share their messages") {
  const std::vector<Shape> same(16, {Verb::kSparse, 4000, 30, sparsecollSum, true});
  for (const int P : {2, 3, 4, 7}) {
    std::size_t messages[2] = {};
    for (const Way way : {Way::one_by_one, Way::group}) {
      const Ranks ranks(P, config_of(kOktopk));
      std::vector<std::vector<std::vector<float>>> out;
      CHECK(run_rounds(ranks, same, way, out) == "");
      sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
      CHECK(sparsecollCommGetStats(ranks.comm(0), sparsecollStatsTotal, &stats) ==
            sparsecollSuccess);
      messages[way == Way::group] = stats.messagesSent;
    }
    INFO("P=" << P << ": " << messages[0] << " messages one by one, " << messages[1]
              << " in groups");
    CHECK(messages[1] * 8 < messages[0]);
  }
}

// The owner of a shard on the only node exchanges nothing while it searches for the shard's
// threshold, and searches longer in some calls than in others.
TEST_CASE("calls of a group by Sharded on one node share all their messages") {
  const Variable one_node("SPARSECOLL_RANKS_PER_NODE", "8");
  for (const int P : {2, 3, 5}) {
    INFO("P=" << P);
    const Ranks ranks(P, config_of(kSharded));
    CHECK(ranks.run("groups", [&](int rank) {
      const sparsecollComm_t comm = ranks.comm(rank);
      constexpr std::size_t kLength = 2000, kKept = 40;
      std::vector<float> one(kLength), other(kLength);
      const Residual<float> residual(comm, kLength, true);
      for (unsigned round = 0; round < 200; ++round) {
        const std::vector<float> send = make_data<float>(Kind::kHeavyTail, kLength, rank, P, round);
        const sparsecollResult_t result = in_group(comm, [&] {
          sparseAllreduce(send.data(), one.data(), kLength, kKept, sparsecollFloat32, sparsecollSum,
                          residual.handle(), comm, nullptr);
          sparseAllreduce(send.data(), other.data(), kLength, kKept, sparsecollFloat32,
                          sparsecollSum, nullptr, comm, nullptr);
        });
        if (result != sparsecollSuccess) return explain(result, comm);
        sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
        sparsecollCommGetStats(comm, sparsecollStatsLast, &stats);
        const auto each = static_cast<std::size_t>(P - 1);  // shards, hashes of caches, results
        if (stats.messagesSent != 3 * each)
          return "group " + std::to_string(round) + ": " + std::to_string(stats.messagesSent) +
                 " messages";
      }
      return std::string();
    }) == "");
  }
}

TEST_CASE("results of a group that did not fit are fetched one by one") {
  const Ranks ranks(4, default_config());
  CHECK(ranks.run("truncated", [&](int rank) {
    const sparsecollComm_t comm = ranks.comm(rank);
    std::string verdict;
    const bool small = rank == 2;
    std::vector<SparseBuffer<float>> sends, recvs;
    for (std::size_t t = 0; t < 3; ++t) {
      const oracle::Sparse<float> entries = {
          {t, 1.0f}, {t + 10, 2.0f}, {t + 20, 3.0f}, {t + 30, 4.0f}};
      sends.emplace_back(100, sparsecollIndex32, entries);
      recvs.emplace_back(0, sparsecollIndex32, 4);
      if (small && t != 1) recvs[t].get()->capacity = t + 1;
    }
    const sparsecollResult_t got = in_group(comm, [&] {
      for (std::size_t t = 0; t < 3; ++t)
        sparseAllreducev(sends[t].get(), recvs[t].get(), SPARSECOLL_ALL, sparsecollSum, nullptr,
                         comm, nullptr);
    });
    verdict += expect("group", got, small ? sparsecollTruncated : sparsecollSuccess, comm);
    for (const std::size_t t : {2u, 0u}) {  // in any order
      if (!small) break;
      sparsecollSparse_t* recv = recvs[t].get();
      if (recv->needed != 4) verdict += "needed; ";
      recv->capacity = 4;
      verdict +=
          expect("fetch", sparsecollFetch(recv, nullptr, comm, nullptr), sparsecollSuccess, comm);
    }
    for (std::size_t t = 0; t < 3; ++t) {
      const oracle::Sparse<float> want = {
          {t, 4.0f}, {t + 10, 8.0f}, {t + 20, 12.0f}, {t + 30, 16.0f}};
      verdict += difference("call " + std::to_string(t), recvs[t].entries(), want);
    }
    return verdict;
  }) == "");
}

/// Returns four exact sums over a bfloat16 wire, of the same indices on all ranks.
std::string exact_sums(const Ranks& ranks, Way way, std::vector<oracle::Sparse<float>>& out) {
  constexpr std::size_t kEntries = 2000, kCalls = 4;
  return ranks.run("exact sums", [&](int rank) {
    const sparsecollComm_t comm = ranks.comm(rank);
    std::vector<SparseBuffer<float>> sends, recvs;
    for (std::size_t call = 0; call < kCalls; ++call) {
      const std::vector<float> values =
          make_data<float>(Kind::kHeavyTail, kEntries, rank, ranks.size(), call);
      oracle::Sparse<float> entries;
      for (std::size_t i = 0; i < kEntries; ++i) entries.push_back({i * 100, values[i]});
      sends.emplace_back(kEntries * 100, sparsecollIndex32, entries);
      recvs.emplace_back(kEntries * 100, sparsecollIndex32, kEntries);
    }
    const auto sum = [&](std::size_t call) {
      return sparseAllreducev(sends[call].get(), recvs[call].get(), SPARSECOLL_ALL, sparsecollSum,
                              nullptr, comm, nullptr);
    };
    sparsecollResult_t result = sparsecollSuccess;
    for (std::size_t call = 0; call < kCalls && way == Way::one_by_one && !result; ++call)
      result = settle(sum(call), comm);
    if (way == Way::group)
      result = in_group(comm, [&] {
        for (std::size_t call = 0; call < kCalls; ++call) sum(call);
      });
    if (result != sparsecollSuccess) return explain(result, comm);
    if (rank == 0)
      for (const auto& recv : recvs) out.push_back(recv.entries());
    return std::string();
  });
}

// These results depend on the choice of Auto, which depends on the call before.
TEST_CASE("calls of a group go on from each other as one by one") {
  constexpr int P = 8;
  const sparsecollConfig_t config = config_of(over_bf16(kAuto, "auto, bf16"));
  std::vector<oracle::Sparse<float>> alone, together;
  CHECK(exact_sums(Ranks(P, config), Way::one_by_one, alone) == "");
  CHECK(exact_sums(Ranks(P, config), Way::group, together) == "");
  REQUIRE(alone.size() == together.size());
  for (std::size_t call = 0; call < alone.size(); ++call)
    CHECK(difference("call " + std::to_string(call), together[call], alone[call]) == "");
}

TEST_CASE("a residual that is made inside a group serves in it") {
  const std::size_t n = 100;
  for (const Mode& mode : {kAuto, kSharded}) {
    for (const int blocking : {1, 0}) {
      sparsecollConfig_t config = config_of(mode);
      config.blocking = blocking;
      const Ranks ranks(3, config);
      const std::vector<std::vector<float>> in = make_data_of_all<float>(Kind::kHeavyTail, n, 3, 1);
      CHECK(ranks.run(mode.name, [&](int rank) {
        const sparsecollComm_t comm = ranks.comm(rank);
        const std::vector<float>& send = in[static_cast<std::size_t>(rank)];
        std::vector<float> grouped(n), alone(n);
        const auto call = [&](std::vector<float>& recv, const Residual<float>& residual) {
          return sparseAllreduce(send.data(), recv.data(), n, 5, sparsecollFloat32, sparsecollSum,
                                 residual.handle(), comm, nullptr);
        };
        sparsecollGroupStart(comm);
        const Residual<float> inside(comm, n);
        std::string verdict = expect("call", call(grouped, inside), sparsecollSuccess, comm);
        verdict += expect("end", sparsecollGroupEnd(comm), sparsecollSuccess, comm);
        const Residual<float> outside(comm, n);
        verdict += expect("call", call(alone, outside), sparsecollSuccess, comm);
        verdict += expect("wait", sparsecollCommSynchronize(comm), sparsecollSuccess, comm);
        verdict += difference("result", grouped, alone);
        return verdict + difference("residual", inside.read(), outside.read());
      }) == "");
    }
  }
}

}  // namespace
}  // namespace sparsecoll::test
