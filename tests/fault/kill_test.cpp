// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// A rank fails when it sends its N-th message, for every N of a call. Every other rank gets the
// right result or an error before the deadline. Residuals are as before or as after the call. Later
// calls return the first error at once, and destroying the communicator ends in time.

#include <atomic>
#include <chrono>
#include <fstream>
#include <initializer_list>

#include "api/communicators.hpp"
#include "fault/cases.hpp"
#include "support/catch.hpp"
#include "support/folder.hpp"
#include "support/longer_deadlines.hpp"
#include "support/step.hpp"
#include "support/variable.hpp"

namespace sparsecoll::fault {
namespace {

using unit::Communicators;
using unit::Report;
using unit::Task;
using FloatStep = unit::Step<float>;

constexpr int kTimeoutMs = 300;  ///< at first

/// A run in which rank `victim` fails when it sends message `message`.
struct Case {
  const FloatStep* step;
  int P;
  int victim;
  size_t message;
  int timeout_ms = kTimeoutMs;
};

sparsecollConfig_t config_of(const Task& task, int timeout_ms) {
  sparsecollConfig_t config = test::config_of(task.mode);
  config.timeoutMs = timeout_ms;
  return config;
}

/// Returns how many messages each rank sends if none fails.
std::vector<size_t> count_messages(const FloatStep& step, int P) {
  std::vector<std::atomic<size_t>> sent(static_cast<size_t>(P));
  const sparsecollConfig_t config = config_of(step.task, 30000);
  Communicators ranks(P, config, [&sent](int sender, int, size_t) {
    ++sent[static_cast<size_t>(sender)];
    return MessageFault{};
  });
  const auto residuals = test::make_residuals<float>(ranks.handles(), step.task.n, true);
  const std::string verdict = ranks.run("no failure", [&](int rank) {
    const auto r = static_cast<size_t>(rank);
    sparsecollResidualWrite(residuals[r].handle(), step.before[r].data());
    const Report report = make_call(step, rank, ranks.handle(rank), residuals[r]);
    return report.result == sparsecollSuccess ? report.wrong : describe(report);
  });
  REQUIRE(verdict == "");
  return {sent.begin(), sent.end()};
}

/// Checks one rank's report of a call. `is_victim`: the rank is the victim.
std::string check_report(const Report& report, bool is_victim, int timeout_ms) {
  if (!report.wrong.empty()) return describe(report);
  if (report.seconds > timeout_ms / 1000.0 + test::patience()) return "late: " + describe(report);
  if (is_victim)
    return report.result == sparsecollSystemError && !report.changed ? "" : describe(report);
  const bool allowed = report.result == sparsecollSuccess || report.result == sparsecollTimeout ||
                       report.result == sparsecollRemoteError;
  return allowed ? "" : describe(report);
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Makes the call in which the victim fails, then another call, and destroys the communicator.
std::string run_rank(const Case& c, Communicators& ranks, int rank,
                     const test::Residual<float>& residual, std::atomic<int>& failed) {
  const bool is_victim = rank == c.victim;
  const sparsecollComm_t comm = ranks.handle(rank);
  const Report first = make_call(*c.step, rank, comm, residual);
  std::string verdict = check_report(first, is_victim, c.timeout_ms);
  if (!verdict.empty()) return verdict;
  const Report second = make_call(*c.step, rank, comm, residual);
  if (first.result != sparsecollSuccess) {
    failed += !is_victim;
    if (second.result != first.result || second.message != first.message)
      return "first " + describe(first) + ", then " + describe(second);
    if (second.seconds > test::patience()) return "the second call ended late";
  } else if (second.result == sparsecollSuccess) {
    return "a call without the failed rank succeeded";
  } else {
    verdict = check_report(second, is_victim, c.timeout_ms);
    if (!verdict.empty()) return "the next call: " + verdict;
  }
  const Clock::time_point start = Clock::now();
  const sparsecollResult_t end = ranks.destroy(rank);
  if (end != sparsecollSuccess) return "destroy: " + test::explain(end, nullptr);
  return seconds_since(start) < test::patience() ? "" : "destroy ended late";
}

std::string check(const Case& c) {
  Communicators ranks(c.P, config_of(c.step->task, c.timeout_ms),
                      [c](int sender, int, size_t number) {
                        MessageFault fault;
                        fault.kill_sender = sender == c.victim && number == c.message;
                        return fault;
                      });
  auto residuals = test::make_residuals<float>(ranks.handles(), c.step->task.n, true);
  for (size_t r = 0; r < residuals.size(); ++r) residuals[r].write(c.step->before[r]);
  std::atomic<int> failed{0};
  std::string verdict = ranks.run(
      text(describe(c.step->task, c.P), ": rank ", c.victim, " fails at message ", c.message),
      [&](int rank) {
        return run_rank(c, ranks, rank, residuals[static_cast<size_t>(rank)], failed);
      });
  // A rank that waits for the lost message cannot have succeeded.
  if (verdict.empty() && c.P > 1 && failed == 0)
    verdict = text(describe(c.step->task, c.P), ": no rank failed without message ", c.message,
                   " of rank ", c.victim);
  return verdict;
}

std::vector<Task> tasks_of(std::initializer_list<test::Mode> modes) {
  std::vector<Task> all;
  for (const test::Mode& mode : modes) {
    Task task;
    task.mode = mode;
    task.n = 500;
    task.k = 30;
    all.push_back(task);
    if (!test::has_coordinate_form(mode)) continue;
    task.coordinate_form = true;
    all.push_back(task);
    task.k = SPARSECOLL_ALL;
    task.op = oracle::Op::kAvg;
    all.push_back(task);
  }
  return all;
}

std::vector<Task> tasks() {
  std::vector<Task> all =
      tasks_of({test::kAllgather, test::kOktopk, test::kTopkA2A, test::kHierarchical,
                test::kSharded, test::kDense, test::kGtopk, test::kGtopkPaper});
  Task long_shards;  // which owners read in the memory of the others
  long_shards.mode = test::kSharded;
  long_shards.n = 70000;
  long_shards.k = 100;
  all.push_back(long_shards);
  return all;
}

void kill_at_every_message(int P, const std::vector<Task>& tasks) {
  std::vector<FloatStep> steps;
  for (const Task& task : tasks)
    steps.push_back(unit::make_step(task, unit::first_residuals<float>(task, P)));
  std::vector<Case> cases;
  for (const FloatStep& step : steps) {
    const std::vector<size_t> messages = count_messages(step, P);
    for (int victim = 0; victim < P; ++victim)
      for (size_t n = 0; n < messages[static_cast<size_t>(victim)]; ++n)
        cases.push_back({&step, P, victim, n});
  }
  REQUIRE(cases.size() > steps.size());
  CHECK(run_cases(cases.size(), [&](size_t i) {
          return test::with_longer_deadlines(kTimeoutMs, [c = cases[i]](int ms) mutable {
            c.timeout_ms = ms;
            return check(c);
          });
        }) == "");
}

TEST_CASE("one of two ranks fails at any message") { kill_at_every_message(2, tasks()); }

TEST_CASE("one of three ranks fails at any message") { kill_at_every_message(3, tasks()); }

TEST_CASE("one of five ranks fails at any message") {
  if (!test::small_run()) kill_at_every_message(5, tasks());
}

TEST_CASE("a rank in one of two racks fails at any message") {
  const test::Folder folder;
  std::ofstream(folder.file("racks.json"))
      << R"({"levels": [{"groups": [{"ranks": "0,2,4"}, {"ranks": "1,3,5"}]}]})";
  const test::Variable file("SPARSECOLL_TOPOLOGY", folder.file("racks.json"));
  const test::Variable nodes("SPARSECOLL_RANKS_PER_NODE", "1");
  const oracle::Levels racks{{0, 1, 0, 1, 0, 1}};
  test::Mode mode = test::kHierarchical;
  mode.groups = &racks;
  kill_at_every_message(test::small_run() ? 3 : 6, tasks_of({mode}));
}

}  // namespace
}  // namespace sparsecoll::fault
