// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Groups: the results and residuals of one by one, fewer messages, and errors that void the whole.

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/sparse_data.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

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

/// What one rank holds for all tensors.
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

/// Several rounds over all tensors; everything that came out of them.
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

TEMPLATE_TEST_CASE("a group gives what its calls give one by one", "", float, double) {
  for (const int P : rank_counts()) {
    for (const Mode& mode : kConservingModes) {
      INFO(mode.name << " P=" << P);
      std::vector<std::vector<std::vector<TestType>>> alone, together;
      const Ranks first(P, config_of(mode)), second(P, config_of(mode));
      CHECK(run_rounds(first, mixed_shapes(), Way::one_by_one, alone) == "");
      CHECK(run_rounds(second, mixed_shapes(), Way::group, together) == "");
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

/// Runs body in a group on every rank and says what GroupEnd gave.
sparsecollResult_t end_of(sparsecollComm_t comm, const std::function<void()>& body) {
  if (sparsecollGroupStart(comm)) return sparsecollInternalError;
  body();
  return settle(sparsecollGroupEnd(comm), comm);
}

TEST_CASE("an error voids the whole group, on all ranks, and the communicator goes on") {
  for (const int P : {1, 2, 3, 5}) {
    const Ranks ranks(P, default_config());
    CHECK(ranks.run("void", [&](int rank) {
      const sparsecollComm_t comm = ranks.comm(rank);
      std::vector<float> x(100, 1.0f), y(100, 7.0f), z(100, 7.0f);
      Residual<float> r(comm, 100);
      const bool bad = rank == P - 1;
      const auto call = [&](float* out, std::size_t k, sparsecollResidual_t residual) {
        return sparseAllreduce(x.data(), out, 100, k, sparsecollFloat32, sparsecollSum, residual,
                               comm, nullptr);
      };
      const auto untouched = [&] {
        for (const float v : y)
          if (v != 7.0f) return false;
        for (const float v : r.read())
          if (v != 0.0f) return false;
        return true;
      };
      struct Case {
        const char* name;
        std::function<void()> body;
        sparsecollResult_t own, others;
        const char* words;
      };
      const Case cases[] = {
          {"bad argument",
           [&] {
             call(y.data(), 5, r.handle());
             sparseAllreduce(x.data(), bad ? nullptr : z.data(), 100, 5, sparsecollFloat32,
                             sparsecollSum, nullptr, comm, nullptr);
           },
           sparsecollInvalidArgument, sparsecollInvalidUsage, "call 2 of the group"},
          {"other k",
           [&] {
             call(y.data(), 5, r.handle());
             call(z.data(), bad ? 6 : 5, nullptr);
           },
           P == 1 ? sparsecollSuccess : sparsecollInvalidUsage, sparsecollInvalidUsage,
           "call 2 of the group: k"},
          {"one call more",
           [&] {
             call(y.data(), 5, r.handle());
             if (bad) call(z.data(), 5, nullptr);
           },
           P == 1 ? sparsecollSuccess : sparsecollInvalidUsage, sparsecollInvalidUsage,
           "number of calls"},
          {"same residual",
           [&] {
             call(y.data(), 5, r.handle());
             call(z.data(), 5, bad ? r.handle() : nullptr);
           },
           sparsecollInvalidUsage, sparsecollInvalidUsage, "residual"},
          {"output is input",
           [&] {
             call(y.data(), 5, r.handle());
             sparseAllreduce(bad ? y.data() : x.data(), z.data(), 100, 5, sparsecollFloat32,
                             sparsecollSum, nullptr, comm, nullptr);
           },
           sparsecollInvalidUsage, sparsecollInvalidUsage, "depend"},
          {"same output",
           [&] {
             call(y.data(), 5, r.handle());
             call(bad ? y.data() + 10 : z.data(), 5, nullptr);
           },
           sparsecollInvalidUsage, sparsecollInvalidUsage, "depend"},
      };
      for (const Case& each : cases) {
        if (std::string(each.name) == "same output" && bad)
          x.resize(110, 1.0f), y.resize(110, 7.0f);
        const sparsecollResult_t got = end_of(comm, each.body);
        const sparsecollResult_t want = bad ? each.own : each.others;
        if (got != want) return std::string(each.name) + ": " + explain(got, comm);
        if (want == sparsecollSuccess) {
          std::fill(y.begin(), y.end(), 7.0f);
          r.write(std::vector<float>(100));
          continue;
        }
        if (std::string(sparsecollGetLastError(comm)).find(each.words) == std::string::npos)
          return std::string(each.name) + ": message " + sparsecollGetLastError(comm);
        if (!untouched()) return std::string(each.name) + ": something was touched";
      }
      const sparsecollResult_t good = end_of(comm, [&] { call(z.data(), 5, r.handle()); });
      if (good != sparsecollSuccess) return "after the errors: " + explain(good, comm);
      return z[0] == static_cast<float>(P) ? std::string() : std::string("wrong sum at the end");
    }) == "");
  }
}

TEST_CASE("groups nest, may be empty, and refuse what cannot be in them") {
  const Ranks ranks(3, default_config());
  CHECK(ranks.run("nesting", [&](int rank) {
    const sparsecollComm_t comm = ranks.comm(rank);
    std::uint64_t before = 0, after = 0;
    sparsecollCommGetSequence(comm, &before);
    std::string verdict = expect("empty", end_of(comm, [] {}), sparsecollSuccess, comm);
    verdict += expect("end without start", sparsecollGroupEnd(comm), sparsecollInvalidUsage, comm);
    sparsecollCommGetSequence(comm, &after);
    if (before != after) verdict += "an empty group counted as a call; ";
    std::vector<float> x(10, 1.0f), y(10);
    verdict += expect("nested",
                      end_of(comm,
                             [&] {
                               sparsecollGroupStart(comm);
                               sparseAllreduce(x.data(), y.data(), 10, 10, sparsecollFloat32,
                                               sparsecollSum, nullptr, comm, nullptr);
                               sparsecollGroupEnd(comm);
                               if (y[0] != 0.0f) verdict += "the inner end made the call; ";
                               verdict += expect("destroy", sparsecollCommDestroy(comm),
                                                 sparsecollInvalidUsage, comm);
                               verdict += expect("synchronize", sparsecollCommSynchronize(comm),
                                                 sparsecollInvalidUsage, comm);
                             }),
                      sparsecollSuccess, comm);
    if (y[9] != 3.0f) verdict += "wrong sum; ";
    sparsecollCommGetSequence(comm, &after);
    if (after != before + 1) verdict += "a group is one call; ";
    return verdict;
  }) == "");
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
    const sparsecollResult_t got = end_of(comm, [&] {
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

}  // namespace
}  // namespace sparsecoll::test
