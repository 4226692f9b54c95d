// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// A rank fails at every message of calls with residuals. The others shrink and move their
// residuals, which then are, bit for bit, those after one and the same call, and so are the results
// and residuals of their next call.

#include <algorithm>
#include <mutex>
#include <utility>

#include "api/communicators.hpp"
#include "api/residual.hpp"
#include "fault/cases.hpp"
#include "oracle/sharded.hpp"
#include "support/catch.hpp"
#include "support/longer_deadlines.hpp"
#include "support/step.hpp"

namespace sparsecoll::fault {
namespace {

using unit::Communicators;
using unit::Report;
using unit::Task;
using FloatStep = unit::Step<float>;

constexpr int kTimeoutMs = 400;  ///< at first
constexpr int kCalls = 3;

/// A run of calls in which rank `victim` fails when it sends message `message`.
struct Case {
  const std::vector<FloatStep>* steps;
  int P;
  int victim;
  size_t message;
};

std::vector<FloatStep> make_steps(Task task, int P) {
  std::vector<FloatStep> steps;
  for (int call = 0; call < kCalls; ++call) {
    task.seed = static_cast<uint64_t>(10 + call);
    steps.push_back(unit::make_step(
        task, steps.empty() ? unit::first_residuals<float>(task, P) : steps.back().after));
  }
  return steps;
}

/// The residuals of all ranks after so many calls.
const unit::Residuals<float>& residuals_after(const std::vector<FloatStep>& steps, uint64_t calls) {
  calls = std::min<uint64_t>(calls, steps.size());
  return calls == 0 ? steps.front().before : steps[calls - 1].after;
}

/// The ranks that remain: their nodes, where these matter, and their residuals.
struct Remaining {
  std::vector<int> nodes;
  unit::Residuals<float> residuals;
};

/// Gives each value of Sharded's residuals to the rank of its node that owns it among the new
/// ranks. Those of the victim are lost.
void move_shards(const Case& c, Remaining& remaining) {
  const size_t n = c.steps->front().task.n;
  const auto size = static_cast<size_t>(c.P);
  auto old = oracle::shards_of(n, size, test::nodes_of(c.steps->front().task.mode, size));
  old.erase(old.begin() + c.victim);
  const auto now = oracle::shards_of(n, size - 1, remaining.nodes);
  const unit::Residuals<float> from =
      std::exchange(remaining.residuals, unit::Residuals<float>(size - 1, std::vector<float>(n)));
  for (size_t source = 0; source + 1 < size; ++source)
    for (size_t owner = 0; owner + 1 < size; ++owner)
      for (uint64_t i = now[owner].begin; i < now[owner].end; ++i)
        if (remaining.nodes[source] == remaining.nodes[owner] && i >= old[source].begin &&
            i < old[source].end)
          remaining.residuals[owner][i] = from[source][i];
}

Remaining remaining_after(const Case& c, uint64_t calls) {
  const test::Mode& mode = c.steps->front().task.mode;
  Remaining remaining{test::nodes_of(mode, static_cast<size_t>(c.P)),
                      residuals_after(*c.steps, calls)};
  remaining.residuals.erase(remaining.residuals.begin() + c.victim);
  if (!remaining.nodes.empty()) remaining.nodes.erase(remaining.nodes.begin() + c.victim);
  if (mode.algorithm == sparsecollAlgoSharded) move_shards(c, remaining);
  return remaining;
}

/// The next call of the ranks that remain, which stay on their nodes.
FloatStep next_step(const Case& c, const Remaining& remaining) {
  Task task = c.steps->front().task;
  task.seed = 77;
  task.mode.nodes = &remaining.nodes;
  return unit::make_step(task, remaining.residuals);
}

bool is_failure(const Report& report) {
  return report.result != sparsecollSuccess && report.result != sparsecollTruncated;
}

/// Makes calls until one fails, shrinks, moves the residual and makes another call.
std::string run_rank(const Case& c, Communicators& ranks, int rank, test::Residual<float>& residual,
                     std::atomic<int>& committed_plus_1) {
  const sparsecollComm_t comm = ranks.handle(rank);
  bool failed = false;
  for (int call = 0; call < kCalls && !failed; ++call) {
    const Report report = make_call((*c.steps)[static_cast<size_t>(call)], rank, comm, residual);
    if (!report.wrong.empty()) return describe(report);
    failed = is_failure(report);
  }
  while (!failed) {  // the others come to the shrink when they miss the victim
    float one = 1;
    failed = sparseAllreduce(&one, &one, 1, 1, sparsecollFloat32, sparsecollSum, nullptr, comm,
                             nullptr) != sparsecollSuccess;
  }
  if (rank == c.victim) return "";
  sparsecollComm_t shrunk = nullptr;
  sparsecollResult_t result = sparsecollCommShrink(comm, &c.victim, 1, &shrunk, nullptr);
  if (result != sparsecollSuccess) return "shrink: " + test::explain(result, comm);
  uint64_t committed = 0;
  sparsecollCommGetSequence(shrunk, &committed);
  int expected = 0;
  const int mine = static_cast<int>(committed) + 1;
  if (!committed_plus_1.compare_exchange_strong(expected, mine) && expected != mine)
    return "ranks differ on the last committed call";
  result = sparsecollResidualMove(residual.handle(), shrunk);
  if (result != sparsecollSuccess) return "move: " + test::explain(result, shrunk);
  const Remaining remaining = remaining_after(c, committed);
  const int place = rank > c.victim ? rank - 1 : rank;
  if (residual.read() != remaining.residuals[static_cast<size_t>(place)])
    return text("the residual is not that after call ", committed, "; ");
  result = ranks.destroy(rank);
  if (result != sparsecollSuccess) return "destroy: " + test::explain(result, nullptr);
  const FloatStep next = next_step(c, remaining);
  const Report report = make_call(next, place, shrunk, residual);
  const bool good = !is_failure(report) && report.wrong.empty() && report.committed;
  const sparsecollResult_t end = sparsecollCommDestroy(shrunk);
  if (end != sparsecollSuccess) return "destroy: " + test::explain(end, nullptr);
  return good ? "" : "the next call: " + describe(report);
}

std::string check(const Case& c, int timeout_ms) {
  Communicators ranks(make_local_transports(c.P,
                                            [c](int sender, int, size_t number) {
                                              MessageFault fault;
                                              fault.kill_sender =
                                                  sender == c.victim && number == c.message;
                                              return fault;
                                            }),
                      [&] {
                        sparsecollConfig_t config = test::config_of(c.steps->front().task.mode);
                        config.timeoutMs = timeout_ms;
                        return config;
                      }());
  auto residuals =
      test::make_residuals<float>(ranks.handles(), c.steps->front().task.values(), true);
  for (size_t r = 0; r < residuals.size(); ++r) residuals[r].write(c.steps->front().before[r]);
  std::atomic<int> committed{0};
  return ranks.run(text(describe(c.steps->front().task, c.P), ": rank ", c.victim,
                        " fails at message ", c.message),
                   [&](int rank) {
                     return run_rank(c, ranks, rank, residuals[static_cast<size_t>(rank)],
                                     committed);
                   });
}

std::vector<Task> tasks() {
  std::vector<Task> all;
  for (const test::Mode& mode : {test::kAllgather, test::kOktopk, test::kTopkA2A,
                                 test::kHierarchical, test::kSharded, test::kDense, test::kGtopk}) {
    Task task;
    task.mode = mode;
    task.n = 300;
    task.k = 20;
    all.push_back(task);
    if (!test::has_coordinate_form(mode)) continue;
    task.coordinate_form = true;
    all.push_back(task);
    task.block = 3;
    all.push_back(task);
  }
  return all;
}

void kill_at_every_message(int P, size_t stride) {
  std::vector<std::vector<FloatStep>> runs;
  for (const Task& task : tasks()) runs.push_back(make_steps(task, P));
  std::vector<Case> cases;
  size_t number = 0;
  for (const auto& steps : runs)
    for (int victim = 0; victim < P; ++victim)
      for (size_t message = 0; message < static_cast<size_t>(kCalls * 2 * P); ++message)
        if (number++ % stride == 0) cases.push_back({&steps, P, victim, message});
  CHECK(run_cases(cases.size(), [&](size_t i) {
          return test::with_longer_deadlines(kTimeoutMs,
                                             [&](int ms) { return check(cases[i], ms); });
        }) == "");
}

TEST_CASE("residuals move as of one committed call, whenever one of two ranks fails") {
  kill_at_every_message(2, 1);
}

TEST_CASE("residuals move as of one committed call, whenever one of three ranks fails") {
  kill_at_every_message(3, test::small_run() ? 7 : 1);
}

TEST_CASE("residuals move as of one committed call, whenever one of five ranks fails") {
  kill_at_every_message(5, test::small_run() ? 31 : 3);
}

TEST_CASE("a residual moves only to a communicator that was shrunk from its own") {
  Communicators ranks(2, test::default_config());
  sparsecollComm_t other = nullptr;
  REQUIRE(sparsecollCommInitAll(&other, 1, nullptr, nullptr) == sparsecollSuccess);
  const test::Residual<float> residual(ranks.handle(0), 10);
  CHECK(sparsecollResidualMove(residual.handle(), other) == sparsecollInvalidArgument);
  CHECK(sparsecollResidualMove(residual.handle(), ranks.handle(0)) == sparsecollInvalidArgument);
  CHECK(sparsecollResidualMove(residual.handle(), nullptr) == sparsecollInvalidArgument);
  CHECK(sparsecollResidualMove(nullptr, other) == sparsecollInvalidArgument);
  sparsecollComm_t shrunk = nullptr;
  const int second = 1;
  REQUIRE(sparsecollCommShrink(ranks.handle(0), &second, 1, &shrunk, nullptr) == sparsecollSuccess);
  CHECK(sparsecollResidualMove(residual.handle(), shrunk) == sparsecollSuccess);
  CHECK(sparsecollResidualMove(residual.handle(), shrunk) == sparsecollInvalidArgument);
  CHECK(ranks.destroy(0) == sparsecollSuccess);
  CHECK(residual.read() == std::vector<float>(10, 0.0f));
  CHECK(sparsecollCommDestroy(shrunk) == sparsecollSuccess);
  CHECK(sparsecollCommDestroy(other) == sparsecollSuccess);
}

/// Selects k entries of `dense` and the residual with sparsecollTopk().
sparsecollResult_t select(const std::vector<float>& dense, size_t k, sparsecollResidual_t residual,
                          sparsecollComm_t comm) {
  std::vector<uint32_t> index(dense.size());
  std::vector<float> value(dense.size());
  sparsecollSparse_t out = SPARSECOLL_SPARSE_INITIALIZER;
  out.indices = index.data();
  out.values = value.data();
  out.capacity = dense.size();
  return sparsecollTopk(dense.data(), dense.size(), k, sparsecollFloat32, residual, &out, comm,
                        nullptr);
}

TEST_CASE("a call that another rank did not commit is undone together with what followed it") {
  // Rank 1 commits call 2 and selects from its residual for call 3; rank 0 fails in call 2.
  constexpr size_t kLength = 60;
  Communicators ranks(3, test::default_config());
  std::vector<test::Residual<float>> residuals =
      test::make_residuals<float>(ranks.handles(), kLength, true);
  std::vector<float> after_first[3], scaled(kLength, 0.5f);
  CHECK(ranks.run("calls that agree", [&](int rank) -> std::string {
    const auto r = static_cast<size_t>(rank);
    std::vector<float> x(kLength);
    for (size_t i = 0; i < kLength; ++i) x[i] = static_cast<float>((i * 7 + r) % 13);
    const auto call = [&] {
      return sparseAllreduce(x.data(), x.data(), kLength, 5, sparsecollFloat32, sparsecollSum,
                             residuals[r].handle(), ranks.handle(rank), nullptr);
    };
    if (call() != sparsecollSuccess) return sparsecollGetLastError(ranks.handle(rank));
    after_first[r] = residuals[r].read();
    if (call() != sparsecollSuccess) return sparsecollGetLastError(ranks.handle(rank));
    return "";
  }) == "");
  std::shared_ptr<Residual> residual = sparsecoll::residuals().find(residuals[0].handle());
  REQUIRE(select(scaled, 3, residuals[0].handle(), ranks.handle(0)) == sparsecollSuccess);
  REQUIRE(sparsecollResidualScale(residuals[0].handle(), 2) == sparsecollSuccess);
  residual->undo_after(2);
  CHECK(residuals[0].read() != after_first[0]);  // nothing to undo
  residual->undo_after(1);
  std::vector<float> twice = after_first[0];
  for (float& each : twice) each *= 2;
  CHECK(residuals[0].read() == twice);
}

TEST_CASE(
    "a selection is undone with the call before it, which had nothing to do with the residual") {
  // Each rank makes a call that counts, then one that does not (a shrink has come between), and
  // selects after or before it.
  constexpr size_t kLength = 4;
  const std::vector<float> first{5, 3, 2, 1}, once{0, 3, 2, 1};
  struct Case {
    const char* name;
    int before, after;  ///< selections before and after the call that does not count
    bool uses_residual, has_call;
    const std::vector<float>& expected;
  };
  for (const Case& c : {Case{"after the call", 0, 1, false, true, first},
                        Case{"twice after the call", 0, 2, false, true, first},
                        Case{"before the call", 1, 0, false, true, once},
                        Case{"before and after the call", 1, 1, false, true, once},
                        Case{"after a call with the residual", 0, 1, true, true, first},
                        Case{"without a call", 0, 1, false, false, once}}) {
    Communicators ranks(3, test::default_config());
    CHECK(ranks.run(c.name, [&](int rank) -> std::string {
      const sparsecollComm_t comm = ranks.handle(rank);
      test::Residual<float> residual(comm, kLength);
      residual.write(first);
      std::vector<float> zeros(kLength), sum(kLength);
      const auto call = [&](sparsecollResidual_t feedback) {
        return sparseAllreduce(zeros.data(), sum.data(), kLength, 0, sparsecollFloat32,
                               sparsecollSum, feedback, comm, nullptr);
      };
      std::vector<sparsecollResult_t> results{call(nullptr)};
      sparsecollComm_t shrunk = nullptr;
      const int none = 0;
      results.push_back(sparsecollCommShrink(comm, &none, 0, &shrunk, nullptr));
      for (int i = 0; i < c.before; ++i)
        results.push_back(select(zeros, 1, residual.handle(), comm));
      if (c.has_call) results.push_back(call(c.uses_residual ? residual.handle() : nullptr));
      for (int i = 0; i < c.after; ++i)
        results.push_back(select(zeros, 1, residual.handle(), comm));
      results.push_back(sparsecollResidualMove(residual.handle(), shrunk));
      std::string wrong;
      for (const sparsecollResult_t each : results)
        if (each != sparsecollSuccess) wrong += test::explain(each, comm) + "; ";
      if (residual.read() != c.expected) wrong += "not the expected values; ";
      sparsecollCommDestroy(shrunk);
      return wrong;
    }) == "");
  }
}

}  // namespace
}  // namespace sparsecoll::fault
