// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Compares the results and residuals of many calls in a row with sparsecollSelectReuse with a
// replay of its rule.

#include "oracle/reuse.hpp"

#include <algorithm>

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

struct Run {
  std::size_t n;
  std::size_t k;
  Kind kind;
  bool feedback;
  int interval;
  int calls;
  bool average = false;
};

sparsecollConfig_t reusing(int interval) {
  sparsecollConfig_t config = default_config();
  config.selection = sparsecollSelectReuse;
  config.thresholdInterval = interval;
  config.repartitionInterval = 7;
  return config;
}

std::string describe(const Run& run, int P) {
  return "reuse P=" + std::to_string(P) + " n=" + std::to_string(run.n) +
         " k=" + std::to_string(run.k) + " data='" + name_of(run.kind) +
         "' interval=" + std::to_string(run.interval) + (run.feedback ? " feedback" : "");
}

/// Calls in a row in dense form. `replay` tells afterwards what happened.
template <class T>
std::string check(int P, const Run& run, oracle::ReuseReplay<T>& replay) {
  const Ranks ranks(P, reusing(run.interval));
  const auto residuals = make_residuals<T>(ranks.comms(), run.n, run.feedback);
  oracle::DenseInputs<T> in;
  if (run.feedback) {
    in.residuals.assign(static_cast<std::size_t>(P), std::vector<oracle::Wide<T>>(run.n, 0));
  }
  for (int call = 0; call < run.calls; ++call) {
    in.sends = make_data_of_all<T>(run.kind, run.n, P, base_seed() + static_cast<unsigned>(call));
    const auto want =
        replay.sparse_allreduce(in, run.average ? oracle::Op::kAvg : oracle::Op::kSum);
    const std::string verdict =
        ranks.run(describe(run, P) + " call=" + std::to_string(call), [&](int rank) {
          const auto r = static_cast<std::size_t>(rank);
          std::vector<T> recv(run.n, T{-77});
          const DenseCall<T> c{in.sends[r].data(),
                               recv.data(),
                               run.n,
                               run.k,
                               run.average ? sparsecollAvg : sparsecollSum,
                               residuals[r].handle()};
          std::string wrong =
              expect("the verb", call_dense_verb(Verb::kSparse, c, ranks.comm(rank)),
                     sparsecollSuccess, ranks.comm(rank));
          sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
          sparsecollCommGetStats(ranks.comm(rank), sparsecollStatsLast, &stats);
          if (wrong.empty() && stats.selected != want.selected[r])
            wrong = "selected another number";
          if (wrong.empty() && stats.result != want.delivered) wrong = "delivered another number";
          if (wrong.empty() && stats.algorithm != sparsecollAlgoOktopk) wrong = "another algorithm";
          if (wrong.empty()) wrong = difference("result", recv, want.result);
          if (wrong.empty() && run.feedback) {
            wrong = difference("residual", residuals[r].read(), want.residuals[r]);
          }
          return wrong;
        });
    if (!verdict.empty()) return verdict;
    in.residuals = want.residuals;
  }
  return "";
}

/// The coordinate form, which reuses only the global threshold.
template <class T>
std::string check_v(int P, const Run& run, SparseKind kind, oracle::ReuseReplay<T>& replay) {
  const Ranks ranks(P, reusing(run.interval));
  const std::uint64_t count = run.feedback ? run.n : std::uint64_t{1} << 40;
  const auto residuals = make_residuals<T>(ranks.comms(), run.n, run.feedback);
  oracle::SparseInputs<T> in;
  in.count = count;
  if (run.feedback) {
    in.residuals.assign(static_cast<std::size_t>(P), std::vector<oracle::Wide<T>>(run.n, 0));
  }
  for (int call = 0; call < run.calls; ++call) {
    in.sends = make_sparse_of_all<T>(kind, count, P, base_seed() + static_cast<unsigned>(call));
    const auto want = replay.sparse_allreducev(in, oracle::Op::kSum);
    const std::string verdict = ranks.run(
        describe(run, P) + " v data='" + name_of(kind) + "' call=" + std::to_string(call),
        [&](int rank) {
          const auto r = static_cast<std::size_t>(rank);
          const SparseBuffer<T> send(count, sparsecollIndex64, in.sends[r]);
          SparseBuffer<T> recv(count, sparsecollIndex64, want.result.size());
          const SparseCall c{send.get(), recv.get(), run.k, sparsecollSum, residuals[r].handle()};
          std::string wrong =
              expect("the verb", call_sparse_verb(Verb::kSparse, c, ranks.comm(rank)),
                     sparsecollSuccess, ranks.comm(rank));
          if (wrong.empty()) wrong = difference("recv", recv.entries(), want.result);
          if (wrong.empty() && run.feedback) {
            wrong = difference("residual", residuals[r].read(), want.residuals[r]);
          }
          return wrong;
        });
    if (!verdict.empty()) return verdict;
    in.residuals = want.residuals;
  }
  return "";
}

TEST_CASE("thresholds are reused as the rule says, in dense form") {
  for (const int P : rank_counts()) {
    const auto ranks = static_cast<std::size_t>(P);
    for (const Kind kind : kAllKinds) {
      const bool feedback = noise(static_cast<unsigned>(kind), ranks) % 2 == 0;
      for (const std::size_t k : {std::size_t{0}, std::size_t{1}, std::size_t{20}}) {
        oracle::ReuseReplay<float> replay(ranks, k, 5);
        CHECK(check<float>(P, {300, k, kind, feedback, 5, 12}, replay) == "");
      }
    }
    oracle::ReuseReplay<double> replay(ranks, 90, 8);
    CHECK(check<double>(P, {1000, 90, Kind::kHeavyTail, true, 8, 30, true}, replay) == "");
    CHECK(replay.reused() > 10 * ranks);
    oracle::ReuseReplay<oracle::Float16> half(ranks, 50, 6);
    CHECK(check<oracle::Float16>(P, {600, 50, Kind::kHeavyTail, true, 6, 12}, half) == "");
    oracle::ReuseReplay<oracle::Bfloat16> brain(ranks, 50, 6);
    CHECK(check<oracle::Bfloat16>(P, {600, 50, Kind::kSkewed, P % 2 == 0, 6, 12}, brain) == "");
    oracle::ReuseReplay<oracle::Float16> tiny(ranks, 50, 6);
    CHECK(check<oracle::Float16>(P, {600, 50, Kind::kDenormals, false, 6, 8, true}, tiny) == "");
  }
}

TEST_CASE("thresholds are reused as the rule says, in coordinate form") {
  for (const int P : rank_counts()) {
    const auto ranks = static_cast<std::size_t>(P);
    for (const SparseKind kind : kAllSparseKinds) {
      for (const bool feedback : {false, true}) {
        oracle::ReuseReplay<float> replay(ranks, 30, 6);
        CHECK(check_v<float>(P, {900, 30, Kind::kIntegers, feedback, 6, 10}, kind, replay) == "");
        oracle::ReuseReplay<oracle::Bfloat16> brain(ranks, 30, 6);
        CHECK(check_v<oracle::Bfloat16>(P, {900, 30, Kind::kIntegers, feedback, 6, 5}, kind,
                                        brain) == "");
      }
    }
    for (const std::size_t k : {std::size_t{0}, SPARSECOLL_ALL / 2, SPARSECOLL_ALL - 1}) {
      // k > n behaves as k = n.
      oracle::ReuseReplay<double> replay(ranks, std::min<std::size_t>(k, 900), 6);
      CHECK(check_v<double>(P, {900, k, Kind::kIntegers, true, 6, 4}, SparseKind::kRandom,
                            replay) == "");
    }
  }
}

/// Large values in one block only, which moves every second call: its owner has all survivors.
std::vector<float> moving_block(std::size_t n, int rank, std::uint64_t call) {
  std::vector<float> values(n);
  const std::size_t begin = call / 2 * 700 % n, end = begin + 150;
  for (std::size_t i = 0; i < n; ++i) {
    const auto small = static_cast<float>(noise(call, i, static_cast<unsigned>(rank)) % 8);
    values[i] = i >= begin && i < end ? 100.0f + small : small;
  }
  return values;
}

TEST_CASE("what survives on one rank is balanced and stays in order") {
  const std::size_t n = 4000, k = 120;
  for (const int P : {5, 8, 9, 16}) {
    const Ranks ranks(P, reusing(20));
    oracle::ReuseReplay<float> replay(static_cast<std::size_t>(P), k, 20);
    for (std::uint64_t call = 0; call < 12; ++call) {
      oracle::DenseInputs<float> in;
      for (int r = 0; r < P; ++r) in.sends.push_back(moving_block(n, r, call));
      const auto want = replay.sparse_allreduce(in, oracle::Op::kSum);
      CHECK(ranks.run("moving block", [&](int rank) {
        const auto r = static_cast<std::size_t>(rank);
        std::vector<float> recv(n);
        const DenseCall<float> c{in.sends[r].data(), recv.data(), n, k};
        const std::string verdict =
            expect("the verb", call_dense_verb(Verb::kSparse, c, ranks.comm(rank)),
                   sparsecollSuccess, ranks.comm(rank));
        return verdict.empty() ? difference("result", recv, want.result) : verdict;
      }) == "");
    }
    CHECK(replay.reused() > 8u * static_cast<unsigned>(P));
  }
}

TEST_CASE("an interval of 1 selects exactly") {
  for (const int P : {1, 3, 4}) {
    const Ranks ranks(P, reusing(1));
    Case c{base_seed(), kOktopk, 700, 20, Kind::kHeavyTail};
    c.feedback = true;
    c.calls = 6;
    CHECK(run_case(ranks, c) == "");
  }
}

TEST_CASE("the exact sum of everything knows no thresholds") {
  const Ranks ranks(4, reusing(5));
  for (const SparseKind kind : kAllSparseKinds) {
    SparseCase c{base_seed(), kOktopk, 900, SPARSECOLL_ALL, kind};
    c.calls = 3;
    CHECK(run_case(ranks, c) == "");
  }
}

TEST_CASE("a threshold far off is given up, on the rank or on all") {
  // Every call a thousand times larger or smaller than the one before.
  const int P = 3;
  const std::size_t n = 400, k = 30;
  const Ranks ranks(P, reusing(50));
  oracle::ReuseReplay<float> replay(P, k, 50);
  for (std::uint64_t call = 0; call < 12; ++call) {
    oracle::DenseInputs<float> in;
    in.sends = make_data_of_all<float>(Kind::kWideIntegers, n, P, base_seed() + call);
    for (auto& send : in.sends) {
      for (float& value : send) value *= call % 2 == 0 ? 1.0f : 1000.0f;
    }
    const auto want = replay.sparse_allreduce(in, oracle::Op::kSum);
    CHECK(ranks.run("far off", [&](int rank) {
      const auto r = static_cast<std::size_t>(rank);
      std::vector<float> recv(n);
      const DenseCall<float> c{in.sends[r].data(), recv.data(), n, k};
      const std::string verdict =
          expect("the verb", call_dense_verb(Verb::kSparse, c, ranks.comm(rank)), sparsecollSuccess,
                 ranks.comm(rank));
      return verdict.empty() ? difference("result", recv, want.result) : verdict;
    }) == "");
  }
  CHECK(replay.fell_back() >= 11 * P);
}

TEST_CASE("reuse goes with Auto and Oktopk only") {
  for (const int algorithm :
       {sparsecollAlgoAllgather, sparsecollAlgoTopkA2A, sparsecollAlgoDense}) {
    sparsecollConfig_t config = reusing(5);
    config.algorithm = algorithm;
    sparsecollComm_t comm = nullptr;
    CHECK(sparsecollCommInitAll(&comm, 1, nullptr, &config) == sparsecollInvalidArgument);
    const std::string message = sparsecollGetLastError(nullptr);
    CHECK(message.find("selection") != std::string::npos);
    CHECK(message.find("algorithm") != std::string::npos);
  }
}

}  // namespace
}  // namespace sparsecoll::test
