// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// sparsecollNonFiniteSkip: a call in which acc of any rank has a NaN or an infinity returns what it
// returns otherwise, and leaves the residuals of all ranks as they were.

#include "support/non_finite.hpp"

#include <cmath>

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/ranks.hpp"
#include "support/typed.hpp"
#include "support/variable.hpp"

namespace sparsecoll::test {
namespace {

/// Makes calls with one residual on data that are finite and not in turn.
template <class T>
std::string alternate(const Ranks& ranks, const Mode& mode, std::size_t n, std::size_t k) {
  const auto P = static_cast<std::size_t>(ranks.size());
  const auto residuals = make_residuals<T>(ranks.comms(), n, true);
  oracle::DenseInputs<T> in{{}, {P, std::vector<oracle::Wide<T>>(n, 0)}};
  std::size_t before = 0;
  for (const sparsecollComm_t comm : ranks.comms())
    before = skipped(comm, sparsecollStatsTotal);  // the same on all ranks
  std::uint64_t seed = base_seed() * 1000 + n + k;
  for (const Data& data : {Data{Kind::kHeavyTail}, Data{Kind::kNotFinite}, Data{Kind::kHeavyTail},
                           Data{Kind::kHeavyTail, true}, Data{Kind::kInfinityClash},
                           Data{Kind::kIntegers}, Data{Kind::kHuge}}) {
    in.sends = make<T>(data, n, ranks.size(), ++seed);
    const oracle::Op op = seed % 2 == 0 ? oracle::Op::kSum : oracle::Op::kAvg;
    const auto want = expected(mode, in, k, op);
    const std::size_t is_skipped = skips(mode, in);
    before += is_skipped;
    const std::string what = std::string(mode.name) + ", " + name_of(data.kind);
    const std::string verdict = ranks.run(what, [&](int rank) {
      const auto r = static_cast<std::size_t>(rank);
      const sparsecollComm_t comm = ranks.comm(rank);
      std::vector<T> recv(n);
      const DenseCall<T> call{in.sends[r].data(), recv.data(),          n, k,
                              op_of(op),          residuals[r].handle()};
      std::string wrong =
          expect("the verb", call_dense_verb(mode.verb, call, comm), sparsecollSuccess, comm);
      if (wrong.empty()) wrong = difference("recv", recv, want.result);
      if (wrong.empty()) wrong = difference("residual", residuals[r].read(), want.residuals[r]);
      if (wrong.empty() && skipped(comm, sparsecollStatsLast) != is_skipped)
        wrong = "skipped of the last call is not " + std::to_string(is_skipped);
      if (wrong.empty() && skipped(comm, sparsecollStatsTotal) != before)
        wrong = "skipped of all calls is not " + std::to_string(before);
      return wrong;
    });
    if (!verdict.empty()) return verdict;
    in.residuals = want.residuals;
  }
  return "";
}

TEST_CASE("residuals stay where acc is not finite, by every algorithm and with every k") {
  for (const Mode& mode : skipping_modes()) {
    for (const int P : {1, 2, 3, 4, 5, 8}) {
      if (small_run() && P > 3) continue;
      const Ranks ranks(P, config_of(mode));
      const auto p = static_cast<std::size_t>(P);
      for (const std::size_t k : {std::size_t{0}, std::size_t{1}, p - 1, p, std::size_t{25}}) {
        INFO(mode.name << ", P=" << P << ", k=" << k);
        CHECK(alternate<float>(ranks, mode, 300, k) == "");
      }
      CHECK(alternate<float>(ranks, mode, 0, 1) == "");
      CHECK(alternate<float>(ranks, mode, 1, 1) == "");
      CHECK(alternate<double>(ranks, mode, 70, 70) == "");
      CHECK(alternate<oracle::Float16>(ranks, mode, 200, 9) == "");
      CHECK(alternate<oracle::Bfloat16>(ranks, mode, 200, 0) == "");
    }
  }
}

TEST_CASE("residuals stay in long vectors, which are selected by samples") {
  for (const Mode& mode : skipping_modes()) {
    const Ranks ranks(3, config_of(mode));
    CHECK(alternate<float>(ranks, mode, small_run() ? 20000 : 300000, 500) == "");
  }
}

TEST_CASE("residuals stay by Sharded, whatever the nodes") {
  for (const int size : {1, 2, 3, 8}) {
    const Variable nodes("SPARSECOLL_RANKS_PER_NODE", std::to_string(size));
    for (const int P : {2, 3, 4, 5, 6}) {
      for (const Mode& mode : {skipping(kSharded), skipping(kHierarchical)}) {
        INFO(size << " ranks per node, P=" << P << ", " << mode.name);
        const Ranks ranks(P, config_of(mode));
        CHECK(alternate<float>(ranks, mode, 300, 25) == "");
        CHECK(alternate<float>(ranks, mode, 300, 1) == "");
      }
    }
  }
}

TEST_CASE("with estimated thresholds residuals stay, and the result shows why") {
  const Mode mode = skipping(kReuse);
  constexpr std::size_t n = 3000, k = 40;
  for (const int P : {1, 2, 5}) {
    const Ranks ranks(P, config_of(mode));
    const auto residuals = make_residuals<float>(ranks.comms(), n, true);
    for (std::uint64_t call = 0; call < 40; ++call) {
      auto sends = make_data_of_all<float>(Kind::kHeavyTail, n, P, base_seed() + call);
      const bool bad = call % 4 == 2;
      const auto spoilt = static_cast<std::size_t>(call) % static_cast<std::size_t>(P);
      if (bad) sends[spoilt][call * 7] = call % 8 == 2 ? kNan : -kInfinity;
      const std::string verdict = ranks.run("reuse", [&](int rank) -> std::string {
        const auto r = static_cast<std::size_t>(rank);
        const auto before = residuals[r].read();
        std::vector<float> recv(n);
        const DenseCall<float> c{sends[r].data(), recv.data(),          n, k,
                                 sparsecollSum,   residuals[r].handle()};
        const sparsecollResult_t result = call_dense_verb(mode.verb, c, ranks.comm(rank));
        if (result != sparsecollSuccess) return explain(result, ranks.comm(rank));
        const auto after = residuals[r].read();
        const bool shows = !std::isfinite(recv[call * 7]);
        if (shows != bad) return bad ? "the result does not show it" : "the result is not finite";
        if (bad) return difference("residual", after, before);
        return difference("residual", after, before).empty() ? "the residual stays" : "";
      });
      INFO("P=" << P << ", call " << call);
      CHECK(verdict == "");
    }
  }
}

TEST_CASE("a NaN in the residual counts like one in the gradient") {
  const Ranks ranks(3, config_of(skipping(kOktopk)));
  auto residuals = make_residuals<float>(ranks.comms(), 50, true);
  std::vector<float> spoilt(50, 1);
  spoilt[7] = kNan;
  residuals[1].write(spoilt);
  const std::vector<float> ones(50, 1);
  CHECK(ranks.run("a call", [&](int rank) -> std::string {
    const auto r = static_cast<std::size_t>(rank);
    const auto before = residuals[r].read();
    std::vector<float> recv(50);
    const DenseCall<float> c{ones.data(), recv.data(), 50, 5, sparsecollSum, residuals[r].handle()};
    const sparsecollResult_t result = call_dense_verb(Verb::kSparse, c, ranks.comm(rank));
    if (result != sparsecollSuccess) return explain(result, ranks.comm(rank));
    if (!std::isnan(recv[7])) return "the result does not show it";
    return difference("residual", residuals[r].read(), before);
  }) == "");
}

TEST_CASE("ranks without a residual of their own mark the call, too") {
  for (const Mode& mode : skipping_modes()) {
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}, std::size_t{9}}) {
      INFO(mode.name << ", k=" << k);
      const Ranks ranks(3, config_of(mode));
      const Residual<oracle::Float16> residual(ranks.comm(0), 80);
      auto sends = make_data_of_all<oracle::Float16>(Kind::kHeavyTail, 80, 3, base_seed());
      sends[2][79] = oracle::Float16(kInfinity);
      CHECK(ranks.run("a call", [&](int rank) -> std::string {
        const auto r = static_cast<std::size_t>(rank);
        std::vector<oracle::Float16> recv(80);
        const DenseCall<oracle::Float16> c{sends[r].data(),
                                           recv.data(),
                                           80,
                                           k,
                                           sparsecollSum,
                                           r == 0 ? residual.handle() : nullptr};
        const sparsecollResult_t result = call_dense_verb(mode.verb, c, ranks.comm(rank));
        if (result != sparsecollSuccess) return explain(result, ranks.comm(rank));
        if (skipped(ranks.comm(rank), sparsecollStatsLast) != 1) return "the call is not skipped";
        return r == 0 ? difference("residual", residual.read(), std::vector<float>(80, 0)) : "";
      }) == "");
    }
  }
}

}  // namespace
}  // namespace sparsecoll::test
