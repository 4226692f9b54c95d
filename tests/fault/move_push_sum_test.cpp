// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// A rank fails at a message of a step of push-sum. The others shrink and move their states: x, w
// and the estimates stay as they are after the last step of each rank, and from there on the sums
// over the ranks that remain are conserved. All numbers are multiples of small powers of two, so
// that nothing is rounded.

#include <array>
#include <atomic>

#include "api/communicators.hpp"
#include "fault/cases.hpp"
#include "support/catch.hpp"
#include "support/longer_deadlines.hpp"
#include "support/push_sum.hpp"

namespace sparsecoll::fault {
namespace {

using unit::Communicators;
using Vector = std::vector<double>;
using State = test::PushSum<double>;

constexpr int kTimeoutMs = 400;  ///< at first
constexpr int kSteps = 4;
constexpr size_t kLength = 12;
constexpr int kMostRanks = 5;

struct Case {
  const test::GraphCase* graph;
  int P;
  int victim;
  size_t message;  ///< of its steps, at which the victim fails
  int delay = 0;
  size_t k = 0;
};

/// A push-sum state of every rank, and what they hold.
struct Run {
  Run(const Case& chosen, int timeout_ms)
      : c(chosen), ranks(chosen.P, config(timeout_ms), [this](int sender, int, size_t) {
          MessageFault fault;
          fault.kill_sender = steps_begin && sender == c.victim && sent++ == c.message;
          return fault;
        }) {
    for (int rank = 0; rank < c.P; ++rank) {
      x.emplace_back(kLength);
      for (size_t i = 0; i < kLength; ++i)
        x.back()[i] = static_cast<double>((i * 37 + static_cast<size_t>(rank) * 101) % 512);
    }
    first = x;
  }
  static sparsecollConfig_t config(int timeout_ms) {
    sparsecollConfig_t config = test::default_config();
    config.timeoutMs = timeout_ms;
    return config;
  }
  sparsecollPushSumConfig_t push_sum_config() const {
    sparsecollPushSumConfig_t config = c.graph->config();
    config.maxDelay = c.delay;
    config.k = c.k;
    if (c.k > 0) config.mixing = 0.5;
    return config;
  }

  Case c;
  std::atomic<bool> steps_begin{false};
  std::atomic<size_t> sent{0};
  Communicators ranks;
  std::vector<Vector> first, x;
  std::array<std::atomic<int>, kMostRanks> steps{};  ///< that each rank has made
  std::array<Vector, kMostRanks> moved, last;        ///< x at the move and at the end
  std::array<double, kMostRanks> moved_weight{}, last_weight{};
  std::array<sparsecollPushSum_t, kMostRanks> states{};
};

/// Numerators and weights after some steps of all ranks, by the definition.
struct Mass {
  std::vector<Vector> x;
  Vector w;

  void step(const oracle::MixingMatrix& part) {
    Mass next{std::vector<Vector>(x.size(), Vector(kLength)), Vector(w.size())};
    for (size_t to = 0; to < x.size(); ++to)
      for (size_t from = 0; from < x.size(); ++from) {
        next.w[to] += part[to][from] * w[from];
        for (size_t i = 0; i < kLength; ++i) next.x[to][i] += part[to][from] * x[from][i];
      }
    *this = next;
  }
  Vector sum() const {
    Vector sum(kLength + 1);
    for (size_t r = 0; r < x.size(); ++r) {
      for (size_t i = 0; i < kLength; ++i) sum[i] += x[r][i];
      sum[kLength] += w[r];
    }
    return sum;
  }
};

/// Returns the sums over the ranks that remain. `x` and `w` have an element for each old rank.
Mass of_survivors(const Case& c, const std::array<Vector, kMostRanks>& x,
                  const std::array<double, kMostRanks>& w) {
  Mass mass;
  for (size_t r = 0; r < static_cast<size_t>(c.P); ++r) {
    if (static_cast<int>(r) == c.victim) continue;
    mass.x.push_back(x[r]);
    mass.w.push_back(w[r]);
  }
  return mass;
}

sparsecollResult_t step(Vector& x, Vector& estimate, sparsecollPushSum_t state,
                        sparsecollComm_t comm) {
  return pushSumStep(x.data(), estimate.data(), kLength, sparsecollFloat64, state, comm, nullptr);
}

/// Makes steps until one fails, shrinks, moves the state and makes more steps.
std::string run_rank(Run& run, int rank) {
  const Case& c = run.c;
  const auto r = static_cast<size_t>(rank);
  const sparsecollComm_t comm = run.ranks.handle(rank);
  const sparsecollPushSum_t state = run.states[r];
  Vector &x = run.x[r], estimate(kLength);
  bool failed = false;
  while (!failed && run.steps[r] < kSteps) {
    failed = step(x, estimate, state, comm) != sparsecollSuccess;
    if (!failed) ++run.steps[r];
  }
  while (!failed) {  // the others come to the shrink when they miss the victim
    float one = 1;
    failed = sparseAllreduce(&one, &one, 1, 1, sparsecollFloat32, sparsecollSum, nullptr, comm,
                             nullptr) != sparsecollSuccess;
  }
  if (rank == c.victim) return "";
  double weight = 0;
  sparsecollPushSumWeight(state, &weight);
  sparsecollComm_t shrunk = nullptr;
  sparsecollResult_t result = sparsecollCommShrink(comm, &c.victim, 1, &shrunk, nullptr);
  if (result != sparsecollSuccess) return "shrink: " + test::explain(result, comm);
  result = sparsecollPushSumMove(state, shrunk);
  if (result != sparsecollSuccess) return "move: " + test::explain(result, shrunk);
  sparsecollPushSumWeight(state, &run.moved_weight[r]);
  if (run.moved_weight[r] != weight) return "the move changes the weight; ";
  run.moved[r] = x;
  result = run.ranks.destroy(rank);
  if (result != sparsecollSuccess) return "destroy: " + test::explain(result, nullptr);
  for (int next = 0; next < kSteps; ++next) {
    result = step(x, estimate, state, shrunk);
    if (result != sparsecollSuccess) return "step: " + test::explain(result, shrunk);
  }
  if (c.delay != 0) result = sparsecollPushSumDrain(state, x.data(), estimate.data(), nullptr);
  if (result != sparsecollSuccess) return "drain: " + test::explain(result, shrunk);
  sparsecollPushSumWeight(state, &run.last_weight[r]);
  run.last[r] = x;
  for (size_t i = 0; i < kLength; ++i)
    if (estimate[i] != x[i] / run.last_weight[r]) return "the estimate is not x / w; ";
  result = sparsecollCommDestroy(shrunk);
  return result == sparsecollSuccess ? "" : "destroy: " + test::explain(result, nullptr);
}

/// Returns what is wrong with the numbers of a run without delay and compression.
std::string compare(const Run& run) {
  const Case& c = run.c;
  std::vector<Mass> after{{run.first, Vector(static_cast<size_t>(c.P), 1.0)}};
  for (int t = 0; t < kSteps; ++t) {
    after.push_back(after.back());
    after.back().step(c.graph->matrix(c.P, static_cast<uint64_t>(t)));
  }
  int largest = 0;
  for (int rank = 0; rank < c.P; ++rank) {
    if (rank == c.victim) continue;
    const auto r = static_cast<size_t>(rank);
    const int steps = run.steps[r];
    const Mass& own = after[static_cast<size_t>(steps)];
    if (run.moved[r] != own.x[r] || run.moved_weight[r] != own.w[r])
      return text("rank ", rank, " does not hold what it had after step ", steps);
    largest = std::max(largest, steps);
  }
  Mass mass = of_survivors(c, run.moved, run.moved_weight);
  for (int t = 0; t < kSteps; ++t)
    mass.step(c.graph->matrix(c.P - 1, static_cast<uint64_t>(largest + t)));
  const Mass got = of_survivors(c, run.last, run.last_weight);
  return got.x == mass.x && got.w == mass.w ? "" : "later steps are not those of the definition";
}

std::string check(const Case& c, int timeout_ms) {
  Run run(c, timeout_ms);
  const std::string what = text(c.graph->name, ", P ", c.P, ", maxDelay ", c.delay, ", k ", c.k,
                                ": rank ", c.victim, " fails at message ", c.message);
  std::string wrong = run.ranks.run(what, [&](int rank) {
    const sparsecollPushSumConfig_t config = run.push_sum_config();
    const sparsecollComm_t comm = run.ranks.handle(rank);
    const sparsecollResult_t result = sparsecollPushSumCreate(
        &run.states[static_cast<size_t>(rank)], kLength, sparsecollFloat64, &config, comm);
    return result == sparsecollSuccess ? "" : test::explain(result, comm);
  });
  run.steps_begin = true;
  if (wrong.empty()) wrong = run.ranks.run(what, [&](int rank) { return run_rank(run, rank); });
  if (!wrong.empty()) return wrong;
  if (c.delay == 0 && c.k == 0) wrong = compare(run);
  if (of_survivors(c, run.moved, run.moved_weight).sum() !=
      of_survivors(c, run.last, run.last_weight).sum())
    wrong += "the sums over the ranks that remain have changed";
  return wrong.empty() ? "" : what + ": " + wrong;
}

std::string check_all(const std::vector<Case>& cases) {
  return run_cases(cases.size(), [&](size_t i) {
    return test::with_longer_deadlines(kTimeoutMs, [&](int ms) { return check(cases[i], ms); });
  });
}

TEST_CASE("push-sum goes on from the last step of each rank, whenever a rank fails") {
  std::vector<Case> cases;
  for (const test::GraphCase* graph : {&test::kExponential, &test::kGraphs[6], &test::kGraphs[7]})
    for (const int P : {2, 3, kMostRanks})
      for (int victim = 0; victim < P; ++victim)
        for (size_t message = 0; message <= kSteps; ++message)
          cases.push_back({graph, P, victim, message});
  CHECK(check_all(cases) == "");
}

TEST_CASE("push-sum with delay or compression is conserved over the ranks that remain") {
  std::vector<Case> cases;
  for (const int delay : {0, 1, 2, -1})
    for (const size_t k : {size_t{0}, size_t{3}})
      for (const int victim : {0, 2})
        for (size_t message = 0; message <= kSteps; ++message)
          cases.push_back({&test::kExponential, 4, victim, message, delay, k});
  CHECK(check_all(cases) == "");
}

/// Shrinks twice, to the first two ranks and to the first one. Returns what is wrong.
std::string shrink_twice(const test::Ranks& ranks, int rank, const test::Residual<float>& residual,
                         const State& state) {
  const int last = 2, second = 1;
  sparsecollComm_t two = nullptr, one = nullptr;
  std::string wrong;
  const auto expect = [&](const char* what, sparsecollResult_t want, sparsecollResult_t got,
                          sparsecollComm_t comm) {
    if (got != want) wrong += std::string(what) + ": " + test::explain(got, comm) + "; ";
  };
  expect("shrink", sparsecollSuccess,
         sparsecollCommShrink(ranks.comm(rank), &last, 1, &two, nullptr), ranks.comm(rank));
  if (!wrong.empty()) return wrong;
  const sparsecollPushSumConfig_t config = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
  const State other(two, 3, config);
  expect("its own", sparsecollInvalidArgument, sparsecollPushSumMove(other.handle(), two), two);
  expect("another", sparsecollInvalidArgument, sparsecollPushSumMove(state.handle(), nullptr), two);
  expect("no state", sparsecollInvalidArgument, sparsecollPushSumMove(nullptr, two), two);
  sparsecollGroupStart(two);
  expect("group", sparsecollInvalidUsage, sparsecollPushSumMove(state.handle(), two), two);
  sparsecollGroupEnd(two);
  if (rank == 0) {
    expect("shrink", sparsecollSuccess, sparsecollCommShrink(two, &second, 1, &one, nullptr), two);
    expect("residual", sparsecollSuccess, sparsecollResidualMove(residual.handle(), one), one);
    expect("state", sparsecollSuccess, sparsecollPushSumMove(state.handle(), one), one);
  }
  // The state of rank 0 is one of `one` now. Rank 1 is told.
  expect("back", rank == 0 ? sparsecollInvalidArgument : sparsecollInvalidUsage,
         sparsecollPushSumMove(state.handle(), two), two);
  if (one) sparsecollCommDestroy(one);
  sparsecollCommDestroy(two);
  return wrong;
}

TEST_CASE("what an earlier communicator owns moves to one that was shrunk twice") {
  for (const int blocking : {1, 0}) {
    sparsecollConfig_t config = test::default_config();
    config.blocking = blocking;
    const test::Ranks ranks(3, config);
    CHECK(ranks.run("moves", [&](int rank) -> std::string {
      const test::Residual<float> residual(ranks.comm(rank), 5);
      sparsecollPushSumConfig_t push_sum = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
      const State state(ranks.comm(rank), 3, push_sum);
      return rank == 2 ? "" : shrink_twice(ranks, rank, residual, state);
    }) == "");
  }
}

TEST_CASE("ranks that move different states get an error, and the states stay") {
  const test::Ranks ranks(3, test::default_config());
  CHECK(ranks.run("moves", [&](int rank) -> std::string {
    const sparsecollPushSumConfig_t config = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
    const State states[] = {{ranks.comm(rank), 3, config}, {ranks.comm(rank), 3, config}};
    const int last = 2;
    sparsecollComm_t two = nullptr;
    if (rank == last) return "";
    if (sparsecollCommShrink(ranks.comm(rank), &last, 1, &two, nullptr) != sparsecollSuccess)
      return "shrink";
    std::string wrong;
    const sparsecollResult_t differ = sparsecollPushSumMove(states[rank].handle(), two);
    if (differ != sparsecollInvalidUsage) wrong += "differ: " + test::explain(differ, two);
    for (const State& each : states) {
      const sparsecollResult_t moved = sparsecollPushSumMove(each.handle(), two);
      if (moved != sparsecollSuccess) wrong += "move: " + test::explain(moved, two);
    }
    sparsecollCommDestroy(two);
    return wrong;
  }) == "");
}

}  // namespace
}  // namespace sparsecoll::fault
